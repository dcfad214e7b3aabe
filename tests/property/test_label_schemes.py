from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.chunks import ChunkScheme
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.schemes import LabelConversion, TrainingLabels
from adaptag.corpus.settings import SCHEMES
from tests.reference.crf import chunks
from tests.reference.schemes import convert

LABELS = ["O", *(f"{role}-{kind}" for role in "BIESLUM" for kind in ("X", "Y-Z")), "B", "I"]


def sentences(labels):
    return st.lists(st.lists(st.sampled_from(labels), max_size=7), min_size=1, max_size=4)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None)
@given(labels=sentences(LABELS))
def test_any_labels_are_written_with_the_chunks_that_conlleval_reads(scheme, labels):
    written = adaptag.convert_labels(labels, scheme)
    assert written == [convert(sentence, scheme) for sentence in labels]
    assert [chunks(s) for s in written] == [chunks(s) for s in labels]
    # What was written follows the rules, is written again as it is, and comes back by any road.
    names = sorted({label for s in written for label in s})
    if set(names) - {"O"}:
        assert adaptag.convert_labels(written, scheme, source=scheme) == written
    for other in SCHEMES:
        assert adaptag.convert_labels(adaptag.convert_labels(written, other), scheme) == written


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None, max_examples=50)
@given(labels=sentences(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", None]))
def test_what_depends_on_unknown_labels_is_not_known(scheme, labels):
    names = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y"]
    conversion = LabelConversion.of(names, scheme)
    offsets = np.cumsum([0, *map(len, labels)])
    ids = np.array([-1 if x is None else names.index(x) for s in labels for x in s], np.int32)
    found = [None if y < 0 else conversion.outputs[y] for y in conversion.apply(ids, offsets)]
    for sentence, first in zip(labels, offsets[:-1], strict=True):
        for t, label in enumerate(sentence):
            # Only the neighbours matter: all labels that they may have are tried.
            near = range(max(0, t - 1), min(len(sentence), t + 2))
            choices = [names if sentence[k] is None else [sentence[k]] for k in near]
            completions = [
                convert([*completion], scheme)[t - near[0]]
                if near[0] == 0 or t == near[0]
                else convert(["O", *completion], scheme)[1 + t - near[0]]
                for completion in itertools.product(*choices)
            ]
            expected = completions[0] if len(set(completions)) == 1 and label else None
            assert found[first + t] == expected


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None)
@given(labels=sentences(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "XYZ", None]))
def test_training_labels_follow_the_rules_and_every_sentence_can(scheme, labels):
    names = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "XYZ"]
    offsets = np.cumsum([0, *map(len, labels)])
    ids = np.array([-1 if x is None else names.index(x) for s in labels for x in s], np.int32)
    made = TrainingLabels.of(LabelWindows.of(names, ids, offsets), scheme)
    written = made.conversion.apply(ids, offsets)
    outside = len(made.names)
    assert (made.legal == ChunkScheme(made.names, chunked=True).legal(scheme)).all()
    for first, end in itertools.pairwise(offsets.tolist()):
        reached = np.zeros(outside + 1, bool)
        reached[outside] = True
        anything = reached.copy()
        for code in written[first:end].tolist():
            anything = (anything[:, None] & made.legal.astype(bool)).any(axis=0)
            reached = (reached[:, None] & made.legal.astype(bool)).any(axis=0)
            anything[outside] = reached[outside] = False
            if code >= 0:
                reached[np.arange(outside + 1) != code] = False
        if end > first:
            assert (anything & made.legal[:, outside].astype(bool)).any()
            assert (reached & made.legal[:, outside].astype(bool)).any()
