"""Can the probabilities be trusted? Calibration before and after a temperature is found.

CoNLL-2003 English named entities: every algorithm, with its defaults, on ``eng.train``; the
temperature is found on ``eng.testa``, and ``eng.testb`` is measured. JNLPBA biomedical named
entities: ADF, with the temperature from the last tenth of the training sentences, which is not
trained on.

    python benchmarks/probabilities.py
    python benchmarks/probabilities.py --algorithms adf,lbfgs --task conll2003
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from chunking import ROOT

import adaptag
from adaptag.corpus.columns import ColumnFormat

sys.path.insert(0, str(ROOT))  # the recipes
DATA = Path(os.environ.get("ADAPTAG_DATA", ROOT.parent / "shared" / "data"))

COLUMNS = ("F1", "T", "Tokens", "Segments", "Sequences")
HELD_OUT = 10  # the last tenth
JNLPBA = {
    "words": {"template": "general"},
    "bio-ner": {"template": "bio-ner"},
    "bio-ner, tuned": {"template": "bio-ner", "rate": 0.01, "window": 0, "passes": 15},
}


def row(title: str, model: adaptag.Model, dev: Any, test: Any) -> str:
    """Calibrate on ``dev``, and measure on ``test``: ECE before and after."""
    held_out, measured = model.encode(*dev), model.encode(*test)
    calibrated = model.calibrated(held_out)
    before, after = model.calibration(measured), calibrated.calibration(measured)
    cells = [f"{model.evaluate(measured).score:.2f}", f"{calibrated.temperature:.3g}"]
    cells += [f"{part.ece:.4f} → {after[name].ece:.4f}" for name, part in before.parts.items()]
    return f"| {title} | {' | '.join(cells)} |"


def conll2003(folder: Path, algorithms: list[str]) -> None:
    """One row for each algorithm."""
    form = ColumnFormat(skip_docstart=True)
    files = [
        adaptag.read(folder / "conll2003" / f"eng.{part}", form)
        for part in ("train", "testa", "testb")
    ]
    dataset = adaptag.encode(files[0])
    for name in algorithms:
        model = adaptag.train(dataset, algorithm=name)
        print(row(name, model, files[1:2], files[2:]), flush=True)


def jnlpba(folder: Path) -> None:
    """ADF, with features of words alone and with those of the recipe."""
    from reproduction.recipes.bio_ner import read

    train, test = (
        [[(word, tag, spelling, label) for word, tag, spelling, _, label in s] for s in part]
        for part in read(folder)
    )
    n = len(train) - len(train) // HELD_OUT
    for name, options in JNLPBA.items():
        columns = slice(0, 1 if options["template"] == "general" else 3)
        parts = [
            [[(*token[columns], token[-1]) for token in sentence] for sentence in part]
            for part in (train[:n], train[n:], test)
        ]
        model = adaptag.train(parts[0], **options)
        print(row(f"JNLPBA, {name}", model, parts[1:2], parts[2:]), flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", default=",".join(adaptag.algorithms()))
    parser.add_argument("--task", choices=["conll2003", "jnlpba"])
    arguments = parser.parse_args()
    print("| | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    if arguments.task in (None, "conll2003"):
        conll2003(DATA, arguments.algorithms.split(","))
    if arguments.task in (None, "jnlpba"):
        jnlpba(DATA)


if __name__ == "__main__":
    main()
