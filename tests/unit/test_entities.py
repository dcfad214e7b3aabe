"""Spans in the form of Hugging Face's token-classification pipelines."""

from __future__ import annotations

import json

import pytest

from adaptag.corpus.spans import Span, TaggedText
from adaptag.errors import ParameterError

TEXT = "Ann Lee likes Rome"
SPANS = (Span(0, 7, "PER", "Ann Lee", 0.9), Span(14, 18, "LOC", "Rome", 0.8))
TOKENS = ((0, 3), (4, 7), (8, 13), (14, 18))


def test_a_dictionary_for_each_span():
    entities = TaggedText(TEXT, SPANS).to_entities()
    assert entities == [
        {"entity_group": "PER", "score": 0.9, "word": "Ann Lee", "start": 0, "end": 7},
        {"entity_group": "LOC", "score": 0.8, "word": "Rome", "start": 14, "end": 18},
    ]
    assert json.loads(json.dumps(entities)) == entities
    assert list(entities[0]) == ["entity_group", "score", "word", "start", "end"]


def test_a_dictionary_for_each_token():
    entities = TaggedText(TEXT, SPANS, TOKENS).to_entities("none")
    assert entities == [
        {"entity": "B-PER", "score": 0.9, "index": 1, "word": "Ann", "start": 0, "end": 3},
        {"entity": "I-PER", "score": 0.9, "index": 2, "word": "Lee", "start": 4, "end": 7},
        {"entity": "B-LOC", "score": 0.8, "index": 4, "word": "Rome", "start": 14, "end": 18},
    ]
    assert list(entities[0]) == ["entity", "score", "index", "word", "start", "end"]


def test_what_cannot_be_given():
    assert TaggedText(TEXT, (Span(0, 3, "X", "Ann"),)).to_entities()[0]["score"] is None
    assert TaggedText(TEXT, ()).to_entities("none") == []
    with pytest.raises(ParameterError, match="no tokens; allowed: aggregation_strategy='simple'"):
        TaggedText(TEXT, SPANS).to_entities("none")
    with pytest.raises(ParameterError, match="unknown aggregation strategy 'first'"):
        TaggedText(TEXT, SPANS, TOKENS).to_entities("first")
