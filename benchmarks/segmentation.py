"""Word segmentation of PKU: the incremental table of Sun, Wang and Li (2012).

usage: python segmentation.py [--tune sgd|adf|words|tags|dictionary] [--quick]

Writes results/segmentation.md, or with --tune results/tuning-segmentation-sgd.md, …-adf.md and so
on. The settings in CHOSEN are those that --tune found best on training data: for ADF by
four-fold cross-validation, as in the paper; for SGD, whose runs are far longer, on the last tenth
of the lines. Both were chosen before rare words had a weight. `--tune words` tries weights for
words without features: rare ones and new ones; `--tune dictionary` those of a user's words. Nothing
of this reads the test file.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import report
from chunking import DATA
from measure import HERE
from report import Table, figure, markdown_table

from adaptag import Segmenter
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.evaluation.segmentation import SegmentationScore, evaluate_segmentation
from adaptag.features.characters import CharacterFeatures, CharacterIndex
from adaptag.segmentation.dictionary import FORCE
from adaptag.segmentation.new_words import detect, may_be_new
from adaptag.training.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Iterator

PKU = DATA.parent / "pku"
RESULTS = HERE / "results"

Settings = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A line of the table: a model, and what the paper has for it."""

    name: str
    algorithm: str
    features: CharacterFeatures
    new_words: bool
    passes: int
    published: tuple[int, float, float, float, float]  # passes, NWD recall, P, R, F


PLAIN = CharacterFeatures(word_cutoff=0, edges=None)
ALL = CharacterFeatures()
ROWS = [
    Row("baseline, SGD", "sgd", PLAIN, False, 50, (50, 77.2, 95.0, 94.0, 94.5)),
    Row("+ new features", "sgd", ALL, False, 50, (50, 78.4, 95.5, 94.9, 95.2)),
    Row("+ new word detection", "sgd", ALL, True, 50, (50, 79.1, 95.8, 94.9, 95.3)),
    Row("+ ADF", "adf", ALL, True, 10, (10, 78.4, 95.8, 94.9, 95.4)),
]
GRID = {
    "sgd": {"rate": [0.05, 0.1, 0.2], "sigma": [1.0, 2.0, 5.0]},
    "adf": {"rate": [0.05, 0.1], "sigma": [1.0, 2.0, 5.0]},
}
TUNED_PASSES = {"sgd": 20, "adf": 10}
FOLDS = {"sgd": 1, "adf": 4}
RARE_WEIGHTS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
NEW_WEIGHTS = [0.0, 1.0, 2.0]
USER_WEIGHTS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, FORCE]
TUNABLE = ("sgd", "adf", "words", "tags", "dictionary")
CHOSEN: dict[str, Settings] = {
    "baseline, SGD": {"rate": 0.2, "sigma": 2.0},
    "+ new features": {"rate": 0.2, "sigma": 1.0},
    "+ new word detection": {"rate": 0.2, "sigma": 1.0},
    "+ ADF": {"rate": 0.1, "sigma": 5.0},
}

READ_FIRST = """\
PKU, reconstructed training set; the official test set; tags B, I, E. Full-width digits and letters
are taken for half-width ones, all digits for one character and all Latin letters for another
(`fold="types"`), in both sets. Published: table 2 of Sun, Wang and Li (2012), with the official
training set.

- **P, R, F** as the script of the bakeoff counts them, after the last pass.
- **NWD recall**: of the test words that are not in the training data as they are written, the
  percentage that was found. Numbers count among them (5.7 % of the words): that is how the paper's
  figures can be compared. Without them, see `adaptag segment evaluate -m MODEL`.
- **Seconds**: training, without reading and encoding; one core. **Encoding**: collecting the
  dictionaries, and all features of the training data."""


@dataclass
class Curve(Callback):
    """The seconds of every pass."""

    seconds: list[float] = field(default_factory=list)

    def on_pass(self, history: Any) -> bool:
        """Note the seconds of the pass."""
        self.seconds.append(history[-1].seconds)
        return False


def train(corpus: SegmentedCorpus, row: Row, settings: Settings, **options: Any) -> Segmenter:
    return Segmenter.train(
        corpus,
        features=row.features,
        algorithm=row.algorithm,
        patience=1000,
        **{"passes": row.passes} | options,
        **settings,
    )


def held_out_parts(corpus: SegmentedCorpus, folds: int) -> Iterator[tuple[SegmentedCorpus, ...]]:
    """What to train on and what to score: every fold in turn, or the last tenth."""
    n = len(corpus)
    bounds = [n * k // folds for k in range(folds + 1)] if folds > 1 else [n * 9 // 10, n]
    for first, last in itertools.pairwise(bounds):
        kept = [k for k in range(n) if not first <= k < last]
        yield corpus.select(kept), corpus.select(range(first, last))


def tune(corpus: SegmentedCorpus, algorithm: str) -> None:
    """Try the grid of every model on held-out training data."""
    folds = FOLDS[algorithm]
    where = "four folds" if folds > 1 else "the last tenth of the training lines"
    parts = [f"# Settings for word segmentation with {algorithm}", f"F on {where}, by passes."]
    parts += [f"Command: `python benchmarks/segmentation.py --tune {algorithm}`"]
    for row in ROWS:
        if row.algorithm != algorithm or row.name == "+ new word detection":  # the same model
            continue
        passes = TUNED_PASSES[algorithm]
        shown = sorted({0, *range(1, passes, 2), passes - 1})
        table = Table(row.name, ["Rate", "σ", *(str(k + 1) for k in shown)], [])
        for rate, sigma in itertools.product(*GRID[algorithm].values()):
            settings = {"rate": rate, "sigma": sigma}
            curves = [
                [
                    report["dev_score"]
                    for report in train(
                        kept, row, settings, dev=held_out, passes=passes
                    ).provenance["passes"]
                ]
                for kept, held_out in held_out_parts(corpus, folds)
            ]
            means = [sum(scores) / len(scores) for scores in zip(*curves, strict=True)]
            table.rows.append([str(rate), str(sigma), *(figure(means[k], ".3f") for k in shown)])
            print(row.name, *table.rows[-1], flush=True)
        parts += [f"## {row.name}", markdown_table(table)]
    path = RESULTS / f"tuning-segmentation-{algorithm}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def tune_words(corpus: SegmentedCorpus) -> None:
    """Try weights of words that have no features: rare ones of the training data, and new ones."""
    scores: dict[tuple[float, float], list[float]] = {}
    for kept, held_out in held_out_parts(corpus, FOLDS["adf"]):
        trained = train(kept, ROWS[-1], CHOSEN["+ ADF"])
        gold, texts = held_out.words(), held_out.texts()
        for rare, new in itertools.product(RARE_WEIGHTS, NEW_WEIGHTS):
            parts = trained.tags, trained.index, trained.weights
            model = Segmenter.of(*parts, rare_weight=rare)
            found = detect(model, texts, weight=new).segmentation if new else model.cut_all(texts)
            scores.setdefault((rare, new), []).append(evaluate_segmentation(gold, found).f1)
    head = ["Rare words", *(f"new words {new}" if new else "no detection" for new in NEW_WEIGHTS)]
    table = Table("Weights of words without features", head, [])
    for rare in RARE_WEIGHTS:
        means = (sum(scores[rare, new]) / FOLDS["adf"] for new in NEW_WEIGHTS)
        table.rows.append([str(rare), *(figure(mean, ".3f") for mean in means)])
    save_tuning("words", table, "Mean F of four folds of the training data, ADF, by weights.")


def tune_tags(corpus: SegmentedCorpus) -> None:
    """Compare the tag sets on four folds."""
    table = Table("Tag sets", ["Tags", "F"], [])
    for tags in ("bie", "bies"):
        scores = [
            train(kept, ROWS[-1], CHOSEN["+ ADF"], tags=tags).evaluate(held_out).f1
            for kept, held_out in held_out_parts(corpus, FOLDS["adf"])
        ]
        table.rows.append([tags, figure(sum(scores) / len(scores), ".3f")])
    save_tuning("tags", table, "Mean F of four folds of the training data, ADF.")


def tune_dictionary(corpus: SegmentedCorpus) -> None:
    """Try weights of a dictionary of half of the words that the held-out lines have new."""
    ((kept, held_out),) = held_out_parts(corpus, 1)
    model = train(kept, ROWS[-1], CHOSEN["+ ADF"])
    gold, texts = held_out.words(), held_out.texts()
    new = {w for words in gold for w in words if w not in model.lexicon and may_be_new(w)}
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
    command = f"Command: `python benchmarks/segmentation.py --tune {name}`"
    parts = [f"# {table.title}", text, command, markdown_table(table)]
    path = RESULTS / f"tuning-segmentation-{name}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def measure(
    train_set: SegmentedCorpus, test: SegmentedCorpus, quick: bool
) -> tuple[list[Table], str]:
    """Train and score every row."""
    gold, texts = test.words(), test.texts()
    known = {word for words in train_set.words() for word in words}.__contains__
    head = ["Model", "Passes", "Seconds", "s per pass", "NWD recall", "P", "R", "F"]
    head += ["Published passes", "NWD recall", "P", "R", "F"]
    main = Table("Incremental evaluation", head, [])
    curves: dict[str, tuple[list[float], list[float]]] = {}
    models: dict[str, Segmenter] = {}
    for row in ROWS:
        short = replace(row, passes=2) if quick else row
        key = f"{row.algorithm} {row.features}"
        if key not in models:
            watch = Curve()
            model = train(train_set, short, CHOSEN[row.name], dev=test, callbacks=[watch])
            scores = [p["dev_score"] for p in model.provenance["passes"]]
            curves[key] = scores, list(itertools.accumulate(watch.seconds))
            # The test file only gives the curve: the model is that of the last pass.
            models[key] = train(train_set, short, CHOSEN[row.name])
        scores, seconds = curves[key]
        found = (
            models[key].new_words(texts).segmentation
            if row.new_words
            else models[key].cut_all(texts)
        )
        score = evaluate_segmentation(gold, found, known)
        ours = [str(short.passes), figure(seconds[-1], ".1f"), figure(seconds[-1] / short.passes)]
        theirs = [str(row.published[0]), *(figure(x, ".1f") for x in row.published[1:])]
        main.rows.append([row.name, *ours, *figures(score), *theirs])
        print(*main.rows[-1], flush=True)
    return [main, compare(curves)], verdict(curves)


def figures(score: SegmentationScore) -> list[str]:
    return [figure(x) for x in (score.oov_recall, score.precision, score.recall, score.f1)]


def compare(curves: dict[str, tuple[list[float], list[float]]]) -> Table:
    """F by passes without new words, and what SGD needs for the F of ADF."""
    sgd, adf = (curves[f"{name} {ALL}"] for name in ("sgd", "adf"))
    table = Table(
        "ADF and SGD with the same features, without new word detection: F by passes",
        ["Passes", "ADF F", "ADF s", "SGD F", "SGD s"],
        [],
    )
    for k in sorted({0, 1, 2, 4, 9, 14, 19, 29, 39, len(sgd[0]) - 1}):
        if k >= len(sgd[0]):
            continue
        ours = [figure(adf[0][k]), figure(adf[1][k], ".1f")] if k < len(adf[0]) else ["", ""]
        table.rows.append([str(k + 1), *ours, figure(sgd[0][k]), figure(sgd[1][k], ".1f")])
    return table


def verdict(curves: dict[str, tuple[list[float], list[float]]]) -> str:
    """How many passes, and how long, SGD needs for the F that ADF ends with."""
    (sgd, sgd_s), (adf, adf_s) = (curves[f"{name} {ALL}"] for name in ("sgd", "adf"))
    began = f"ADF ends with F {adf[-1]:.2f} after {len(adf)} passes, {adf_s[-1]:.1f} s."
    reached = next((k for k, f in enumerate(sgd) if f >= adf[-1]), None)
    if reached is None:
        return f"{began} SGD does not reach it in {len(sgd)} passes."
    return f"{began} SGD reaches it first after {reached + 1} passes, {sgd_s[reached]:.1f} s."


def encoding_seconds(corpus: SegmentedCorpus) -> float:
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        index = CharacterIndex.build(corpus, ALL)
        index.encode(corpus)
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tune", choices=TUNABLE, help="choose the settings")
    parser.add_argument("--quick", action="store_true", help="two passes: does it run?")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    corpus = SegmentedCorpus.read(PKU / "train.utf8")
    if arguments.tune:
        others = {"words": tune_words, "tags": tune_tags, "dictionary": tune_dictionary}
        if arguments.tune in others:
            others[arguments.tune](corpus)
        else:
            tune(corpus, arguments.tune)
        return
    test = SegmentedCorpus.read(PKU / "test_gold.utf8")
    tables, summary = measure(corpus, test, arguments.quick)
    report.show(tables)
    parts = ["# Word segmentation, PKU", READ_FIRST]
    parts += [f"Machine: {report.described(report.machine())}."]
    parts += [f"Command: `python benchmarks/segmentation.py{' --quick' * arguments.quick}`"]
    parts += [f"Encoding: {encoding_seconds(corpus):.2f} s."]
    for table in tables:
        parts += [f"## {table.title}", markdown_table(table)]
    parts += [summary]
    settings = "; ".join(
        f"{name}: " + ", ".join(f"{k} {v}" for k, v in chosen.items())
        for name, chosen in CHOSEN.items()
    )
    how = "chosen on training data, before rare words had a weight (`tuning-segmentation-*.md`)"
    parts += [f"Settings, {how}: {settings}."]
    name = "segmentation-partial.md" if arguments.quick else "segmentation.md"
    (RESULTS / name).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
