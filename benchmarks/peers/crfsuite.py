"""python-crfsuite on CoNLL columns, with features made in Python, or on ready attributes.

A file whose name ends in .attributes holds a token a line, the label and its attributes between
tabs, and a blank line behind each sentence.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pycrfsuite
from chunking import attributes, read

if TYPE_CHECKING:
    from collections.abc import Iterator


class Trainer(pycrfsuite.Trainer):
    """Prints the wall time of each iteration but the first; CRFsuite's own is processor time."""

    last: float | None = None

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration has ended."""
        super().on_iteration(log, info)
        now = time.perf_counter()
        if self.last is not None:
            print(f"Wall seconds of this iteration: {now - self.last:.4f}")
        self.last = now


def examples(text: str) -> Iterator[tuple[list[list[str]], list[str]]]:
    """Attributes and labels of each sentence."""
    if not text.endswith(".attributes"):
        for sentence in read(text):
            yield attributes(sentence), [token[-1] for token in sentence]
        return
    tokens: list[list[str]] = []
    with Path(text).open(encoding="utf-8") as lines:
        for line in lines:
            if line != "\n":
                tokens.append(line.rstrip("\n").split("\t"))
            else:
                yield [token[1:] for token in tokens], [token[0] for token in tokens]
                tokens = []


def train(text: str, model: str, passes: str, algorithm: str, settings: list[str]) -> None:
    trainer = Trainer(algorithm=algorithm, verbose=True)
    trainer.set("max_iterations", passes)
    for setting in settings:
        trainer.set(*setting.split("=", 1))
    for one, labels in examples(text):
        trainer.append(one, labels)
    trainer.train(model)


def tag(text: str, model: str, output: str) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    with Path(output).open("w", encoding="utf-8") as lines:
        if text.endswith(".attributes"):
            for one, _ in examples(text):
                lines.writelines(f"{label}\n" for label in tagger.tag(one))
                lines.write("\n")
            return
        for sentence in read(text):
            labels = tagger.tag(attributes(sentence))
            columns = zip(sentence, labels, strict=True)
            lines.writelines(f"{' '.join(token)} {label}\n" for token, label in columns)
            lines.write("\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["train", text, model, passes, algorithm, *settings]:
            train(text, model, passes, algorithm, settings)
        case ["tag", text, model, output]:
            tag(text, model, output)
        case _:
            sys.exit("train TEXT MODEL PASSES ALGORITHM [NAME=VALUE ...]; tag TEXT MODEL OUT")
