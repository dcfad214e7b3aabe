"""Wapiti on CoNLL columns, through libwapiti (its program `pywapiti` does not run on Python 3)."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from chunking import wapiti_pattern
from wapiti import Model


def train(text: str, model: str, passes: str, algorithm: str, threads: str = "1") -> None:
    logger = logging.getLogger("wapiti")  # Wapiti's progress, one line per pass
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler())
    # A compacted model, without its zero weights, is smaller and tags faster.
    options = {"maxiter": int(passes), "nthread": int(threads), "compact": True}
    crf = Model(wapiti_pattern(), algo=algorithm, **options)
    crf.train(sequences(text))
    crf.save(model)


def tag(text: str, model: str, output: str) -> None:
    crf = Model(model=model, nthread=1)
    labelled = (crf.label_sequence(sequence, include_input=True) for sequence in sequences(text))
    with Path(output).open("wb") as lines:
        lines.writelines(sentence + b"\n" for sentence in labelled)


def sequences(text: str) -> list[str]:
    return Path(text).read_text(encoding="utf-8").strip().split("\n\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["train", text, model, passes, algorithm, *threads]:
            train(text, model, passes, algorithm, *threads)
        case ["tag", text, model, output]:
            tag(text, model, output)
        case _:
            sys.exit("train TEXT MODEL PASSES ALGORITHM [THREADS]; tag TEXT MODEL OUT")
