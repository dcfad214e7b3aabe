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
    """Fit and predict, one core each, in turns, as the tutorial does and with `CRF()`."""
    folder = DATA.parent / "conll2002_dutch"
    if not folder.is_dir():
        raise Skipped("no conll2002_dutch/: set ADAPTAG_DATA to the folder that holds it")
    files = folder / "ned.train", folder / "ned.testb"

    def taken(python: str, library: str, arguments: str) -> dict[str, float]:
        _, output = context.process([python, "-m", "peers.tutorial", library, arguments, *files])
        figures: dict[str, float] = json.loads(output.splitlines()[-1])
        return figures

    found = context.turns(
        {
            "": lambda: taken(sys.executable, "adaptag", "tutorial"),
            "/defaults": lambda: taken(sys.executable, "adaptag", "defaults"),
            PEER: lambda: taken(PEER_PYTHON, "sklearn_crfsuite", "tutorial"),
        },
        min(REPEATS, context.repeats),
    )
    theirs = found.pop(PEER)
    for arguments, ours in found.items():
        for name, key, unit in (
            ("tutorial/fit", "fit_s", "s"),
            ("tutorial/predict", "predict_s", "s"),
            ("tutorial/peak memory", "peak_mb", "MB"),
        ):
            yield Figure(name + arguments, ours[key], unit, "lower", PEER, theirs[key])
        yield Figure(f"tutorial/F{arguments}", ours["f"], "F", "higher")
    yield Figure(f"tutorial/F of {PEER}", theirs["f"], "F")
