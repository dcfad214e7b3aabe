"""spacy-pkuseg on spaced text; its words come one line for each line of the text."""

from __future__ import annotations

import sys

import spacy_pkuseg

from peers.cutting import cut_lines


def train(text: str, test: str, model: str, passes: str) -> None:
    spacy_pkuseg.train(text, test, model, train_iter=int(passes))


def cut(text: str, model: str, output: str) -> None:
    segmenter = spacy_pkuseg.pkuseg(model, user_dict=None)
    cut_lines(text, output, single=lambda lines: [segmenter.cut(line) for line in lines])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["train", text, test, model, passes]:
            train(text, test, model, passes)
        case ["cut", text, model, output]:
            cut(text, model, output)
        case _:
            sys.exit("train TEXT TEST MODEL PASSES; cut TEXT MODEL OUT")
