"""Targets of the Python boundary: any objects as data, and any JSON as constraints."""

from __future__ import annotations

import json
import math

import numpy as np

import adaptag
from adaptag import Constraints
from tests.fuzz.model_files import classifier, segmenter, tagger
from tests.fuzz.mutation import mutate_json
from tests.fuzz.target import Target

# ---- objects -------------------------------------------------------------------------------------

LEAVES = [
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, 10**30, 0.0, 0.5, -1.5, 1e38, math.inf,
    math.nan, "", "a", "b", "The", "cat", "O", "B-X", "I-X", "X", "天天", "\ud800", "\0", " ",
    "a\tb", "\n", "x" * 300, "text", "tokens", "spans", b"", b"ab", 1j, np.float32(1), np.int64(2),
    np.array([1.0, 2.0]), np.array(["a", "b"]), np.array([], object), np.array(3), object(), len,
    range(3), Exception("e"), ...,
]  # fmt: skip


class Reader:
    """Objects from bytes: each byte is a choice; behind the end all are leaves."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def object(self, depth=4):
        choice = self.byte()
        if depth == 0 or choice < 128:
            return LEAVES[choice % len(LEAVES)]
        n = choice >> 3 & 3
        items = [self.object(depth - 1) for _ in range(n)]
        match choice & 7:
            case 0 | 1 | 2:
                return items
            case 3:
                return tuple(items)
            case 4:
                return iter(items)
            case 5:
                return {item for item in items if is_hashable(item)}
            case _:
                keys = [self.object(0) for _ in items]
                return {k: v for k, v in zip(keys, items, strict=True) if is_hashable(k)}

    def sentences(self):
        """Sentences of tokens, or else any object."""
        if self.byte() % 4 == 0:
            return self.object()
        return [
            [self.object(1) if self.byte() % 8 == 0 else "abc"[self.byte() % 3] for _ in range(n)]
            for n in [self.byte() % 4 for _ in range(self.byte() % 4)]
        ]

    def labels(self):
        """Labels of sentences, or else any object."""
        return self.object() if self.byte() % 4 == 0 else self.sentences()


def is_hashable(item):
    try:
        hash(item)
    except TypeError:
        return False
    return True


FUNCTIONS = [
    lambda r: adaptag.train(r.sentences(), r.labels(), passes=1, threads=1),
    lambda r: adaptag.train(r.sentences(), passes=1, threads=1),
    lambda r: adaptag.train([["a", "b"]], [["X", "Y"]], dev=r.object(), passes=1, threads=1),
    lambda r: adaptag.train(
        [["a", "b"]],
        [["X", "Y"]],
        passes=1,
        threads=1,
        **{OPTIONS[r.byte() % len(OPTIONS)]: r.object(1)},
    ),
    lambda r: adaptag.encode(r.sentences(), r.labels()),
    lambda r: tagger().tag(r.object()),
    lambda r: tagger().tag(["a", "cat"], allowed=r.object()),
    lambda r: tagger().tag_all(r.sentences(), threads=1),
    lambda r: tagger().marginals(r.object()),
    lambda r: tagger().nbest(["The", "cat"], r.object(1)),
    lambda r: tagger().probability(r.object(), r.object()),
    lambda r: tagger().segments(r.object()),
    lambda r: tagger().explain(r.object()),
    lambda r: tagger().tag_text(r.object(1)),
    lambda r: tagger().tag_texts(r.object()),
    lambda r: tagger().evaluate(r.sentences(), r.labels()),
    lambda r: tagger().calibrated(r.sentences(), r.labels()),
    lambda r: tagger().compact(prune=r.object(1)),
    lambda r: adaptag.evaluate(r.object(), r.object()),
    lambda r: adaptag.evaluate(r.sentences(), r.labels()),
    lambda r: adaptag.convert_labels(r.sentences(), "bioes"),
    lambda r: adaptag.Segmenter.train(r.sentences(), passes=1, threads=1),
    lambda r: segmenter().cut(r.object()),
    lambda r: segmenter().cut_all(r.object(), threads=1),
    lambda r: segmenter().words(r.object()),
    lambda r: segmenter().evaluate(r.sentences()),
    lambda r: segmenter().new_words(r.object()),
    lambda r: segmenter().dictionary.copy().add(r.object()),
    lambda r: segmenter().dictionary.copy().add({"天天": r.object(1)}),
    lambda r: segmenter().dictionary.copy().remove(r.object()),
    lambda r: adaptag.DocumentClassifier.train(r.object(), r.object(), passes=1),
    lambda r: classifier().predict(r.object()),
    lambda r: classifier().evaluate(r.object(), r.object()),
    lambda r: adaptag.StreamTrainer("U:%x[0,0]\nB").learn(r.sentences(), r.labels()),
]
OPTIONS = [
    "template", "cutoff", "edge_cutoff", "edge_share", "rich_edges", "algorithm", "rate", "seed",
    "scheme", "output_scheme", "sample_weight", "tokenizer", "dev", "patience", "sigma", "metric",
]  # fmt: skip


def call(data):
    reader = Reader(data)
    FUNCTIONS[reader.byte() % len(FUNCTIONS)](reader)


def calls():
    shapes = [b"", bytes([1, 2, 1, 1, 1] * 8), bytes([0, 0x99, 17, 18, 0x8B, 19, 20] * 5)]
    return [bytes([k]) + shape for k in range(len(FUNCTIONS)) for shape in shapes]


# ---- constraints ---------------------------------------------------------------------------------


def constrain(data):
    """Decode with constraints; where they can be checked one by one, beside brute force."""
    from tests.unit.test_constraints import SENTENCE, TRAINING, check, model

    try:
        given = json.loads(data)
        kind, length, declared = given["kind"], given["length"], given["constraints"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if kind not in list(TRAINING) or length not in (2, 3, 4):
        return
    length = int(length)
    constraints = Constraints.from_dict(declared)
    if not constraints:
        return
    canonical = constraints.to_dict()
    assert Constraints.from_dict(canonical) == constraints
    found, tokens = model(kind), SENTENCE[:length]
    found.tag(tokens, constraints=declared)
    if "*" in json.dumps(canonical) or any(
        not -length <= token < length for token, _ in constraints.fixed
    ):
        found.marginals(tokens, constraints=constraints)
        return
    if "fixed" in canonical:
        canonical["fixed"] = {int(token): names for token, names in canonical["fixed"].items()}
    check(kind, 0, length, canonical)


def declarations():
    declared = {
        "plain": [
            {"at_most_once": ["A"], "at_least_once": ["O"]},
            {"order": [["A", "B"], ["B", "C"]], "fixed": {"0": ["A"], "-1": "O"}},
            {"followed_by": {"A": ["B", None]}, "preceded_by": {"B": None}},
        ],
        "chunked": [
            {"at_most_once": "*", "at_least_once": "X", "order": ["X", "Y"]},
            {"forbidden_pairs": [["B-X", "O"], [None, "I-X"]]},
            {"followed_by": {"X": ["Y", "O"]}, "fixed": {"1": ["X", "O"]}},
        ],
        "bioes": [{"at_most_once": "X"}, {"fixed": {"0": "B-X"}}],
        "to iob1": [{"at_least_once": ["X"], "forbidden_pairs": [["X", "X"]]}],
    }
    return [
        json.dumps({"kind": kind, "length": 2 + number, "constraints": value}).encode()
        for kind, values in declared.items()
        for number, value in enumerate(values)
    ]


TARGETS = {
    "objects": Target(call, calls),
    "constraints": Target(constrain, declarations, mutate_json),
}
