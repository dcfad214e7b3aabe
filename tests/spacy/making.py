"""Data and pipelines for the tests of spaCy."""

from __future__ import annotations

import functools

import spacy
from spacy.tokens import Doc
from spacy.training import Example

import adaptag
from adaptag.corpus.ingredients import ingredients

WORDS = [["小明", "在", "图书馆", "看", "书"], ["小红", "在", "公园", "看", "电影"]] * 5


@functools.cache
def corpus():
    return ingredients(300, 10, 100)


def columns(part):
    """The tokens and the labels of a part of the corpus."""
    return [list(s.tokens) for s in part], [list(s.labels) for s in part]


@functools.cache
def model():
    return adaptag.train(*columns(corpus().train), passes=5, seed=1)


@functools.cache
def tagger():
    """A model whose labels mark no chunks."""
    tokens, labels = columns(corpus().train)
    names = [[label.partition("-")[2] or "OTHER" for label in row] for row in labels]
    return adaptag.train(tokens, names, passes=5, seed=1)


def pipeline(model, path, **config):
    """A blank pipeline with the component, whose model is in a file."""
    model.save(path)
    nlp = spacy.blank("xx")
    nlp.add_pipe("adaptag", config={"model": str(path), **config})
    return nlp


def plain(nlp, doc):
    """The words of a document, and nothing else."""
    return Doc(nlp.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])


def examples(nlp, docbin):
    return [Example(plain(nlp, doc), doc) for doc in docbin.get_docs(nlp.vocab)]
