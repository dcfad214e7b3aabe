"""Projects for tests, from the demo corpus."""

from __future__ import annotations

from functools import cache

from adaptag.annotation.importing import read_texts
from adaptag.annotation.store import Store
from adaptag.corpus.ingredients import Sentence, column_text, ingredients

TYPES = ["QTY", "UNIT", "SIZE", "STATE", "BRAND", "NAME", "PREP", "NOTE"]


@cache
def demo_sentences(n: int) -> tuple[Sentence, ...]:
    return tuple(ingredients(train=n, dev=1, test=1).train)


def unlabelled_columns(sentences) -> bytes:
    return "\n".join("".join(f"{token}\n" for token in s.tokens) for s in sentences).encode()


def make_project(folder, n: int = 60, *, labelled: int = 0) -> list[Sentence]:
    """A project with sentences of the demo, of which the first have their labels."""
    sentences = list(demo_sentences(n))
    with Store(folder, create=True) as store:
        store.add_labels(TYPES)
        if labelled:
            data = column_text(sentences[:labelled]).encode()
            found = read_texts(data, "labelled.txt", "columns")
            store.add_texts(found.texts, "labelled.txt", labels=found.labels, kind=found.kind)
        rest = sentences[labelled:]
        if rest:
            found = read_texts(unlabelled_columns(rest), "open.txt", "columns")
            store.add_texts(found.texts, "open.txt")
    return sentences
