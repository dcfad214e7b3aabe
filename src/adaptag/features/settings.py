"""The settings of features: which ones a tagger or a segmenter has, and of word clusters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError
from adaptag.settings import Settings, setting

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "FOLDS",
    "CharacterFeatures",
    "ClusterSettings",
    "CountedFeatures",
    "EdgeSettings",
    "FeatureSettings",
]

COUNTS = "integer [1, 2147483647]"
COLUMN = re.compile(r"[0-9]{1,4}")
MAX_COLUMN = 9999  # that a macro of a template can name
CLUSTERING = "Clustering"
EDGES = "Rich edges"
FEATURES = "Features"
FOLDS = {
    "none": "characters as they are",
    "width": "full-width digits, letters and punctuation are taken for their half-width forms",
    "types": "as width, and all digits are alike, all Latin letters are alike",
}


@dataclass(kw_only=True)
class EdgeSettings(Settings):
    """Which of the features that may have edge weights get them.

    An edge weight is one for a pair of neighbouring labels. The other features have node weights
    only.
    """

    edge_cutoff: int = setting(
        1,
        "Minimum count of a feature that has edge weights in addition to its node weights.",
        COUNTS,
        panel=EDGES,
    )
    edge_share: float = setting(
        1.0,
        "Share of the features that have edge weights: the most frequent ones.",
        "[0, 1]",
        panel=EDGES,
    )

    def limits_edges(self) -> bool:
        """Whether some features that may have edge weights get none."""
        return self.edge_cutoff != 1 or self.edge_share != 1


@dataclass(kw_only=True)
class CountedFeatures(Settings):
    """Which features are kept, and how they are numbered."""

    cutoff: int = setting(
        1,
        "Minimum count of a feature: rarer features are ignored.",
        COUNTS,
        panel=FEATURES,
        search=(1, 2, 3),
    )
    hash_bits: int | None = setting(
        None,
        "Number the features by hashes of this many bits: the model has a fixed size, its features "
        "have no names, and different features may share their weights.",
        "integer [1, 30]",
        default_text="no hashing",
        panel=FEATURES,
    )


@dataclass(kw_only=True)
class FeatureSettings(EdgeSettings, CountedFeatures):
    """Which features a tagger has."""

    template: Any = setting(
        None,
        "Name of a preset, or a CRF++ template file.",
        default_text="general",
        short="-t",
        panel=FEATURES,
    )
    columns: Any = setting(
        None,
        "Numbers of the columns that features may be made of, counted from 0 and separated by "
        "commas, such as 0,2: lines of the template that name other columns are left out.",
        default_text="all",
        panel=FEATURES,
    )
    rich_edges: bool = setting(
        False,
        "Give every line of the template, or every attribute, edge weights too: a weight for each "
        "pair of labels.",
        panel=EDGES,
    )

    tokenizer: Any = setting(
        None,
        "What cuts raw text into tokens, in training and in use of the model: unicode (words by "
        "the rules of Unicode), whitespace, characters, or the file of a segmenter.",
        default_text="unicode",
        panel=FEATURES,
    )

    def record(self) -> dict[str, Any]:
        """All values, ready for JSON; a tokenizer by its name, columns as a list."""
        from adaptag.corpus.tokenizers import tokenizer_name

        columns = self.chosen_columns()
        return {
            **super().record(),
            "columns": None if columns is None else sorted(columns),
            "tokenizer": tokenizer_name(self.tokenizer),
        }

    def chosen_columns(self) -> frozenset[int] | None:
        """The numbers of the columns that may be used; None where all may."""
        given = self.columns
        if given is None:
            return None
        if isinstance(given, str):
            given = [word.strip() for word in given.split(",")]
            given = [int(word) if COLUMN.fullmatch(word) else word for word in given]
        elif isinstance(given, int) and not isinstance(given, bool):
            given = [given]
        numbers = list(given) if isinstance(given, (list, tuple, range, set, frozenset)) else []
        if not numbers or not all(type(n) is int and 0 <= n <= MAX_COLUMN for n in numbers):
            raise ParameterError(
                f"columns is {self.columns!r}; allowed: numbers of columns from 0 on, such as 0,2"
            )
        return frozenset(numbers)

    def check(self) -> Self:
        """Raise where a value is outside its bounds, or two of them exclude each other."""
        super().check()
        if self.tokenizer is not None:
            from adaptag.corpus.tokenizers import check_tokenizer

            check_tokenizer(self.tokenizer)
        self.chosen_columns()
        if self.hash_bits is not None and (self.cutoff != 1 or self.limits_edges()):
            raise ParameterError(
                "hashed features are not counted: cutoff, edge_cutoff and edge_share cannot be "
                "combined with hash_bits"
            )
        return self


@dataclass(kw_only=True)
class CharacterFeatures(EdgeSettings):
    """Which features a segmenter has."""

    fold: str = setting(
        "types",
        "How characters are compared: none, width (full-width as half-width), or types (also all "
        "digits alike and all Latin letters alike). The text itself is never changed.",
        " | ".join(FOLDS),
        panel=FEATURES,
    )
    cutoff: int = setting(
        1,
        "Minimum count of a character or character bigram: rarer ones are ignored.",
        COUNTS,
        panel=FEATURES,
        search=(1, 2, 3),
    )
    word_cutoff: int = setting(
        3,
        "Minimum count of a word or word bigram of the training data; 0: no word features.",
        "integer [0, 2147483647]",
        panel=FEATURES,
        search=(2, 3, 5),
    )
    plain_edges: bool = setting(
        False, "Give no feature edge weights: only label bigrams have them.", panel=EDGES
    )

    def check(self) -> Self:
        """Raise where a value is outside its bounds, or two of them exclude each other."""
        super().check()
        if self.plain_edges and self.limits_edges():
            raise ParameterError(
                "plain_edges leaves no edge weights to limit: edge_cutoff and edge_share cannot be "
                "combined with it"
            )
        return self


@dataclass(kw_only=True)
class ClusterSettings(Settings):
    """How words are clustered."""

    clusters: int = setting(
        1000, "Number of clusters at most.", "integer [2, 10000]", panel=CLUSTERING
    )
    cutoff: int = setting(
        3,
        "Minimum count of a word: rarer words get no cluster.",
        COUNTS,
        panel=CLUSTERING,
    )
    passes: int = setting(
        10,
        "Maximum number of passes over the words; clustering ends earlier when few words move.",
        "integer [1, 1000]",
        panel=CLUSTERING,
    )
