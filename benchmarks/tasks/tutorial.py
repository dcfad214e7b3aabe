"""The tutorial of sklearn-crfsuite on CoNLL-2002 Dutch, with only its import changed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from chunking import DATA
from contestants import PEER_PYTHON
from history import Figure
from suite import LONG, Context, Skipped, measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER = "sklearn-crfsuite"
REPEATS = 2  # of a minute or two each


@measurement("tutorial", LONG)
def tutorial(context: Context) -> Iterator[Figure]:
    """Fit and predict, one core each, in turns; `c1=0.1, c2=0.1, max_iterations=100`."""
    folder = DATA.parent / "conll2002_dutch"
    if not folder.is_dir():
        raise Skipped("no conll2002_dutch/: set ADAPTAG_DATA to the folder that holds it")
    files = folder / "ned.train", folder / "ned.testb"

    def taken(python: str, library: str) -> dict[str, float]:
        _, output = context.process([python, "-m", "peers.tutorial", library, *files])
        figures: dict[str, float] = json.loads(output.splitlines()[-1])
        return figures

    found = context.turns(
        {
            "ours": lambda: taken(sys.executable, "adaptag"),
            "theirs": lambda: taken(PEER_PYTHON, "sklearn_crfsuite"),
        },
        min(REPEATS, context.repeats),
    )
    ours, theirs = found["ours"], found["theirs"]
    for name, key, unit in (
        ("tutorial/fit", "fit_s", "s"),
        ("tutorial/predict", "predict_s", "s"),
        ("tutorial/peak memory", "peak_mb", "MB"),
    ):
        yield Figure(name, ours[key], unit, "lower", PEER, theirs[key])
    yield Figure("tutorial/F", ours["f"], "F", "higher")
    yield Figure(f"tutorial/F of {PEER}", theirs["f"], "F")
