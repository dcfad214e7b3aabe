"""Small models and texts that the tests of this folder share."""

from __future__ import annotations

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.ingredients import ingredients

CORPUS = ingredients(train=120, dev=0, test=300)
TAGGER_DATA = [list(line.tokens) for line in CORPUS.test]
COLUMNS = "".join("\n".join(tokens) + "\n\n" for tokens in TAGGER_DATA)
WORDS = [
    ["小明", "在", "图书馆", "看", "书"],
    ["小红", "在", "公园", "看", "电影"],
    ["老师", "喜欢", "喝", "绿茶"],
    ["我们", "喜欢", "看", "书"],
]
TEXT = "".join(f"{''.join(a + b)} {''.join(b)}\n" for a in WORDS for b in WORDS) * 5 + "老师"
REVIEWS = ["good and cheap", "bad , very bad", "good !", "not good : bad"]
DOCUMENTS = "".join(f"{a} {b}\n" for a in REVIEWS for b in REVIEWS) * 5


def save_models(folder):
    """Train a tagger, a segmenter and a classifier."""
    labels = [list(line.labels) for line in CORPUS.train]
    adaptag.train([list(line.tokens) for line in CORPUS.train], labels, passes=3).save(
        folder / "tagger"
    )
    adaptag.Segmenter.train(WORDS, passes=5).save(folder / "segmenter")
    DocumentClassifier.train(REVIEWS, ["yes", "no", "yes", "no"], passes=5).save(
        folder / "classifier"
    )
    return folder
