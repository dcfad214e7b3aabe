"""Damaged copies of a model, opened and tagged with in processes of their own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from compat.sources import ROOT, fresh_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["N_COPIES", "OUTCOMES", "count_outcomes"]

N_COPIES = 150
SEED = 18
TIMEOUT = 30.0
REFUSED = 3
OUTCOMES = ("tags", "clean error", "other exception", "crash", "hang")


def count_outcomes(model: Path, module: str) -> Counter[str]:
    """Count what happens with the damaged copies of a model.

    Args:
        model: A sound model.
        module: ``pycrfsuite`` or what stands in for it.
    """
    data = model.read_bytes()
    folder = fresh_folder(f"damaged-{module}")
    outcomes: Counter[str] = Counter()
    for number in range(N_COPIES):
        path = folder / f"{number}.crfsuite"
        path.write_bytes(damage(data, Random(f"{SEED} {number}")))
        outcomes[_outcome(path, module)] += 1
    return outcomes


def damage(data: bytes, random: Random) -> bytes:
    """A copy with a few wrong bytes, a wrong number, an overwritten part or a missing end."""
    copy = bytearray(data)
    kind = random.randrange(4)
    place = random.choice((random.randrange(len(copy)), random.randrange(64)))
    if kind == 0:
        for _ in range(random.randint(1, 20)):
            copy[random.randrange(len(copy))] = random.randrange(256)
    elif kind == 1:
        place -= place % 4
        number = random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, random.randrange(1 << 32)))
        copy[place : place + 4] = number.to_bytes(4, "little")
    elif kind == 2:
        copy[place : place + 64] = random.randbytes(len(copy[place : place + 64]))
    else:
        del copy[random.randrange(len(copy)) :]
    return bytes(copy)


def _outcome(path: Path, module: str) -> str:
    command = [sys.executable, "-m", "compat.damaged", str(path), module]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        code = subprocess.run(
            command, cwd=path.parent, env=environment, capture_output=True, timeout=TIMEOUT
        ).returncode
    except subprocess.TimeoutExpired:
        return "hang"
    if code < 0:
        return "crash"
    return {0: "tags", REFUSED: "clean error"}.get(code, "other exception")


def _tag(path: str, module: str) -> int:
    """Open a model and tag a sequence with some of its attributes."""
    api = importlib.import_module(module)
    sequence = [["word:main", "digits:all_digits", "length:d:4", "bias"], ["word:st", "abbrev"]] * 5
    try:
        tagger = api.Tagger()
        tagger.open(path)
        labels = tagger.tag(sequence)
        tagger.probability(labels)
        for label in tagger.labels():
            tagger.marginal(label, 3)
        tagger.info()
    except (ValueError, OSError):
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_tag(*sys.argv[1:]))
