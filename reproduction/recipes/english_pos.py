"""English parts of speech: Universal Dependencies, with the tag set of the Penn Treebank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptag.corpus.columns import ColumnCorpus
from reproduction.recipes.chunking import L1_CHARTS, l1_rows
from reproduction.recipes.recipe import (
    MOST_ITERATIONS,
    TSURUOKA,
    Corpora,
    Published,
    Recipe,
    Row,
    Study,
    encoded,
    files_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from adaptag.experiments.problem import Problem

__all__ = ["ENGLISH_POS"]

WORD, TAG = 1, 4  # fields of a line: the form and the XPOS tag
RATES = (0.05, 0.1, 0.2, 0.5)
SIGMAS = (1.0, 2.0, 5.0)


def read(folder: Path) -> Corpora:
    """Words and tags."""
    names = (f"ud_english_ewt/en_ewt-ud-{part}.conllu" for part in ("train", "test"))
    files = files_of(folder, *names)
    return Corpora(*(ColumnCorpus.from_sentences(sentences_of(path)) for path in files))


def sentences_of(path: Path) -> list[list[tuple[str, str]]]:
    """The words of a CoNLL-U file, without ranges and empty nodes."""
    return [
        [
            (fields[WORD], fields[TAG])
            for fields in (line.split("\t") for line in block.split("\n"))
            if fields[0].isdigit()
        ]
        for block in path.read_text(encoding="utf-8").strip().split("\n\n")
    ]


def problem(corpora: Corpora, _features: str) -> Problem:
    """Words and spelling."""
    return encoded(corpora, "general")


ENGLISH_POS = Recipe(
    "english-pos",
    "English parts of speech",
    """\
Universal Dependencies English EWT 2.16, the 49 tags of the Penn Treebank (XPOS); words and spelling
(preset `general`). The score is the accuracy of tokens.""",
    read,
    problem,
    (
        Study(
            "algorithms",
            "ADF and the methods it was compared with",
            "not in the 2014 paper",
            (
                Row(
                    "adf",
                    {"rate": 0.2, "sigma": 5, "passes": 20},
                    grid={"rate": RATES, "sigma": SIGMAS},
                ),
                Row(
                    "sgd",
                    {"rate": 0.5, "sigma": 2, "passes": 30},
                    grid={"rate": RATES, "sigma": SIGMAS},
                ),
                Row("lbfgs", {"sigma": 2, "passes": MOST_ITERATIONS}, grid={"sigma": SIGMAS}),
                Row("perceptron", {"passes": 20}),
                Row("averaged-perceptron", {"passes": 20}),
            ),
            charts=(("scores", ()),),
        ),
        Study(
            "l1",
            "L1 regularisation",
            "table 3 and figure 6 of Tsuruoka et al. (2009)",
            l1_rows(
                0.5,
                0.2,
                {
                    "owlqn": Published(97.16, None, None, 124, 5_623, 50_870, 1.941),
                    "clipping": Published(97.18, None, None, 30, 1_680, 323_199, 2.013),
                    "cumulative": Published(97.19, None, None, 30, 1_777, 62_043, 1.987),
                    "cumulative-decay": Published(97.17, None, None, 30, 1_774, 51_857, 1.954),
                },
            ),
            text="""\
The paper's corpus, sections of the Wall Street Journal, is not free: these are other texts (blogs,
mails, reviews), a fifth as many. Compare the order of methods, not the figures. The naive penalty
is left out, as for chunking.""",
            charts=L1_CHARTS,
            column=(TSURUOKA, "POS (published: WSJ)"),
            whole_objective=True,
        ),
    ),
    minutes=12,
)
