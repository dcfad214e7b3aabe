"""Constraints by their definition: spans of one label sequence, one constraint after the other."""

from __future__ import annotations

import itertools

from tests.reference.crf import chunks

PREFIXES = "BIESLUM"


def is_chunk_label(label):
    return label == label[:1] + label[1:] and label.partition("-")[0] in tuple(PREFIXES)


def spans(labels, name, known, chunked):
    """The spans (first, last) of a name."""
    if name not in known:
        return sorted((first, last) for first, last, kind in chunks(labels) if kind == name)
    found = [t for t, label in enumerate(labels) if label == name]
    if chunked and is_chunk_label(name):
        return [(t, t) for t in found]
    runs = itertools.groupby(enumerate(found), lambda pair: pair[1] - pair[0])
    return [(run[0], run[-1]) for run in ([t for _, t in group] for _, group in runs)]


def neighbours(labels, name, known, chunked):
    """Where a name stands in pairs: labels are single tokens, and None is the outside."""
    if name is None:
        return [(-1, -1), (len(labels), len(labels))]
    if name in known:
        return [(t, t) for t, label in enumerate(labels) if label == name]
    return spans(labels, name, known, chunked)


def satisfies(labels, constraints, known, chunked):
    """Whether a label sequence satisfies constraints, given as a dictionary of lists."""

    def of(name):
        return spans(labels, name, known, chunked)

    def near(name):
        return neighbours(labels, name, known, chunked)

    if any(len(of(name)) > 1 for name in constraints.get("at_most_once", [])):
        return False
    if any(len(of(name)) < 1 for name in constraints.get("at_least_once", [])):
        return False
    for separator, names in constraints.get("at_most_once_between", {}).items():
        cuts = [first for first, _ in of(separator)]
        for name in names:
            for (x, _), (y, _) in itertools.combinations(of(name), 2):
                if not any(x < cut <= y for cut in cuts):
                    return False
    for order in constraints.get("order", []):
        for a, b in itertools.combinations(order, 2):
            if any(x[0] > y[0] for x in of(a) for y in of(b)):
                return False
    for a, b in constraints.get("forbidden_pairs", []):
        if any(x[1] + 1 == y[0] for x in near(a) for y in near(b)):
            return False
    for name, others in constraints.get("followed_by", {}).items():
        for _, last in of(name):
            if not any(last + 1 == y[0] for other in others for y in near(other)):
                return False
    for name, others in constraints.get("preceded_by", {}).items():
        for first, _ in of(name):
            if not any(x[1] + 1 == first for other in others for x in near(other)):
                return False
    for token, names in constraints.get("fixed", {}).items():
        label = labels[token]
        if label not in names and not any(
            a <= token % len(labels) <= b
            for name in names
            if name not in known
            for a, b in spans(labels, name, known, chunked)
        ):
            return False
    return True
