"""Choices of word segmentation, made on the training data of PKU.

usage: python segmentation.py words|tags|dictionary

words: weights of words without features, rare ones and new ones; tags: the tag sets; dictionary:
weights of a user's words. Writes results/tuning-segmentation-words.md and so on. Nothing of this
reads the test file; what is measured on it is in docs/results/segmentation.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
from typing import TYPE_CHECKING, Any

import report
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table

from adaptag import Segmenter
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.evaluation.segmentation import evaluate_segmentation
from adaptag.segmentation.dictionary import FORCE
from adaptag.segmentation.new_words import detect, may_be_new

if TYPE_CHECKING:
    from collections.abc import Iterator

PKU = DATA.parent / "pku"
RESULTS = HERE / "results"
FOLDS = 4
SETTINGS = {"rate": 0.1, "sigma": 5.0, "passes": 10}  # of ADF
RARE_WEIGHTS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
NEW_WEIGHTS = [0.0, 1.0, 2.0]
USER_WEIGHTS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, FORCE]


def train(corpus: SegmentedCorpus, **options: Any) -> Segmenter:
    return Segmenter.train(corpus, **SETTINGS, **options)


def held_out_parts(corpus: SegmentedCorpus, folds: int) -> Iterator[tuple[SegmentedCorpus, ...]]:
    """What to train on and what to score: every fold in turn, or the last tenth."""
    n = len(corpus)
    bounds = [n * k // folds for k in range(folds + 1)] if folds > 1 else [n * 9 // 10, n]
    for first, last in itertools.pairwise(bounds):
        kept = [k for k in range(n) if not first <= k < last]
        yield corpus.select(kept), corpus.select(range(first, last))


def tune_words(corpus: SegmentedCorpus) -> None:
    """Try weights of words that have no features: rare ones of the training data, and new ones."""
    scores: dict[tuple[float, float], list[float]] = {}
    for kept, held_out in held_out_parts(corpus, FOLDS):
        trained = train(kept)
        gold, texts = held_out.words(), held_out.texts()
        for rare, new in itertools.product(RARE_WEIGHTS, NEW_WEIGHTS):
            model = trained.set_params(rare_weight=rare)
            found = detect(model, texts, weight=new).segmentation if new else model.cut_all(texts)
            scores.setdefault((rare, new), []).append(evaluate_segmentation(gold, found).f1)
    head = ["Rare words", *(f"new words {new}" if new else "no detection" for new in NEW_WEIGHTS)]
    table = Table("Weights of words without features", head, [])
    for rare in RARE_WEIGHTS:
        means = (sum(scores[rare, new]) / FOLDS for new in NEW_WEIGHTS)
        table.rows.append([str(rare), *(figure(mean, ".3f") for mean in means)])
    save_tuning("words", table, "Mean F of four folds of the training data, ADF, by weights.")


def tune_tags(corpus: SegmentedCorpus) -> None:
    """Compare the tag sets on four folds."""
    table = Table("Tag sets", ["Tags", "F"], [])
    for tags in ("bie", "bies"):
        scores = [
            train(kept, tags=tags).evaluate(held_out).f1
            for kept, held_out in held_out_parts(corpus, FOLDS)
        ]
        table.rows.append([tags, figure(sum(scores) / len(scores), ".3f")])
    save_tuning("tags", table, "Mean F of four folds of the training data, ADF.")


def tune_dictionary(corpus: SegmentedCorpus) -> None:
    """Try weights of a dictionary of half of the words that the held-out lines have new."""
    ((kept, held_out),) = held_out_parts(corpus, 1)
    model = train(kept)
    gold, texts = held_out.words(), held_out.texts()
    new = {w for words in gold for w in words if w not in model.lexicon_ and may_be_new(w)}
    chosen = set(sorted(new)[::2])
    head = ["Weight", "Dictionary words found", "Precision of these", "Other words found", "F"]
    table = Table("Weights of a user's words", head, [])
    for weight in USER_WEIGHTS:
        model.dictionary.remove(list(model.dictionary))
        model.dictionary.add(chosen, weight)
        cut = model.cut_all(texts)
        score = evaluate_segmentation(gold, cut, lambda word: word not in chosen)
        predicted = sum(word in chosen for words in cut for word in words)
        precision = 100 * score.oov_correct / max(1, predicted)
        figures = (score.oov_recall, precision, score.iv_recall, score.f1)
        table.rows.append([str(weight), *(figure(x) for x in figures)])
    save_tuning(
        "dictionary",
        table,
        "The last tenth of the training lines, with half of its unknown words as a dictionary.",
    )


def save_tuning(name: str, table: Table, text: str) -> None:
    report.show([table])
    command = f"Command: `python benchmarks/segmentation.py {name}`"
    parts = [f"# {table.title}", text, command, markdown_table(table)]
    path = RESULTS / f"tuning-segmentation-{name}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    choices = {"words": tune_words, "tags": tune_tags, "dictionary": tune_dictionary}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("choice", choices=choices)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    choices[arguments.choice](SegmentedCorpus.read(PKU / "train.utf8"))


if __name__ == "__main__":
    main()
