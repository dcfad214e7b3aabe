"""python-crfsuite on CoNLL columns, with features made in Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pycrfsuite
from chunking import attributes, read


def train(text: str, model: str, passes: str, algorithm: str, settings: list[str]) -> None:
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=True)
    trainer.set("max_iterations", passes)
    for setting in settings:
        trainer.set(*setting.split("=", 1))
    for sentence in read(text):
        trainer.append(attributes(sentence), [token[-1] for token in sentence])
    trainer.train(model)


def tag(text: str, model: str, output: str) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    with Path(output).open("w", encoding="utf-8") as lines:
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
