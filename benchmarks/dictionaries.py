"""`CRF` on feature dictionaries, beside sklearn-crfsuite: CoNLL-2000, one core.

usage: python dictionaries.py [--repeats N] [--only NAME …]

The features are those of sklearn-crfsuite's tutorial, as dictionaries; `fit` gets them as Python
lists, so its time includes all conversion. Contestants take turns. Writes results/dictionaries.md.
The status is 1 where a bar is missed: a third of the tutorial's time, a higher F, no more memory.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import report
from chunking import DATA
from contestants import PEER_PYTHON, REQUIREMENTS, install_peers
from measure import HERE, run
from report import Table, figure, markdown_table

import adaptag

OURS, THEIRS = "adaptag.CRF", "sklearn-crfsuite, tutorial"


@dataclass
class Row:
    """A contestant and what was measured of it."""

    name: str
    library: str
    options: dict[str, Any]
    repeats: int | None = None  # those that are slow have fewer
    runs: list[dict[str, float]] = field(default_factory=list)
    f: float = 0.0

    def least(self, key: str) -> float:
        """The smallest of its figures."""
        return min(one[key] for one in self.runs)


ROWS = [
    Row(OURS, "adaptag", {"random_state": 1}),
    Row(
        THEIRS,
        "sklearn_crfsuite",
        {
            "algorithm": "lbfgs",
            "c1": 0.1,
            "c2": 0.1,
            "max_iterations": 100,
            "all_possible_transitions": True,
        },
        2,
    ),
    Row("sklearn-crfsuite, defaults", "sklearn_crfsuite", {}, 1),
    Row("sklearn-crfsuite, pa", "sklearn_crfsuite", {"algorithm": "pa"}, 1),
    Row("sklearn-crfsuite, ap", "sklearn_crfsuite", {"algorithm": "ap"}, 1),
]


def measure(row: Row, folder: Path) -> None:
    python = sys.executable if row.library == "adaptag" else PEER_PYTHON
    output, log = folder / "labels", folder / "log"
    files = [str(DATA / "train.txt"), str(DATA / "test.txt"), str(output)]
    command = [python, "-m", "peers.dictionary_crf", row.library, json.dumps(row.options), *files]
    run(command, log)
    row.runs.append(json.loads(log.read_text(encoding="utf-8").splitlines()[-1]))
    predicted = [line.split() for line in output.read_text(encoding="utf-8").splitlines()]
    gold = [
        [line.split()[-1] for line in block.strip().split("\n")]
        for block in (DATA / "test.txt").read_text(encoding="utf-8").split("\n\n")
        if block.strip()
    ]
    row.f = adaptag.evaluate(gold, predicted).score
    print(row.name, row.runs[-1], f"F {row.f:.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[""])
    options = parser.parse_args()
    install_peers()
    rows = [row for row in ROWS if any(part in row.name for part in options.only)]
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.repeats):
            for row in rows:
                if turn < (row.repeats or options.repeats):
                    measure(row, Path(folder))
    by_name = {row.name: row for row in rows}
    base = by_name.get(THEIRS)
    head = ["", "fit, s", "of the tutorial's", "predict, s", "added by fit, MB", "peak, MB", "F"]
    table = Table("CoNLL-2000, dictionaries", head, [])
    for row in rows:
        added = min(one["peak_mb"] - one["before_mb"] for one in row.runs)
        share = row.least("fit_s") / base.least("fit_s") if base else None
        cells = [row.least("fit_s"), share, row.least("predict_s"), added, row.least("peak_mb")]
        shown = [figure(c, ".3f" if k == 1 else ".2f") for k, c in enumerate(cells)]
        table.rows.append([row.name, *shown, figure(row.f)])
    settings = "; ".join(f"{row.name} `{json.dumps(row.options)}`" for row in rows)
    parts = [
        "# A CRF over feature dictionaries",
        "CoNLL-2000 chunking with the features of sklearn-crfsuite's tutorial. One process each, "
        "one core, in turns; the least of the repeats. `fit` takes lists of dictionaries: its time "
        "is that of conversion and training. The dictionaries themselves are in the peak, not in "
        "what `fit` added.",
        f"Machine: {report.described(report.machine(REQUIREMENTS))}.",
        f"Command: `python benchmarks/dictionaries.py --repeats {options.repeats}`",
        markdown_table(table),
        f"Settings: {settings}.",
    ]
    report.show([table])
    if options.only != [""]:
        return 0
    path = HERE / "results" / "dictionaries.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    ours = by_name[OURS]
    assert base is not None
    met = (
        ours.least("fit_s") <= base.least("fit_s") / 3
        and ours.f > max(row.f for row in rows if row is not ours)
        and ours.least("peak_mb") <= base.least("peak_mb")
    )
    print("bars met" if met else "a bar is missed")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
