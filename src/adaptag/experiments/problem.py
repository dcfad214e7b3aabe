"""Problems: data that any algorithm can train on, and a score for its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.corpus.chunks import ChunkScheme
from adaptag.decoding.model import Model
from adaptag.evaluation.scores import sentence_counts
from adaptag.experiments.results import Data

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.dataset.encoded import Dataset, Examples

    Counts = Callable[[NDArray[np.float32]], NDArray[np.int64]]

__all__ = ["Part", "Problem", "tagging_problem"]


@dataclass(frozen=True, eq=False)
class Part:
    """Training data, and the test data that goes with it.

    Attributes:
        train: The training data.
        counts: A function from weights to the numbers of correct, predicted and gold items of
            every test sentence, int64 ``[N, 3]``.
    """

    train: Examples
    counts: Counts


@dataclass(frozen=True, eq=False)
class Problem:
    """One part; or several, as in cross-validation, whose test sentences are scored together.

    Attributes:
        parts: The training and test data.
        metric: What the F1 of the counts is called.
        train: The name and size of the training data.
        test: The name and size of the test data.
    """

    parts: tuple[Part, ...]
    metric: str
    train: Data
    test: Data

    @property
    def labels(self) -> int:
        """Labels of the first part."""
        return len(self.parts[0].train.label_names)

    @property
    def features(self) -> int:
        """Features of the first part."""
        return self.parts[0].train.index.n_predicates

    @property
    def weights(self) -> int:
        """Weights of the first part, without the padding of their rows."""
        node, both, edge = self.parts[0].train.index.n_of_kind
        return (node + both) * self.labels + (both + edge) * self.labels**2


def tagging_problem(
    train: Dataset, test: Dataset, names: tuple[str, str] = ("training data", "test data")
) -> Problem:
    """Label tokens; the score is chunk F1, or token accuracy where labels mark no chunks."""

    def counts(weights: NDArray[np.float32]) -> NDArray[np.int64]:
        model = Model(train.label_names, train.index, weights, {})
        predicted = model.tag_encoded(test.encoded)
        return sentence_counts(test.labels, predicted, test.encoded.sentences, test.label_names)

    return Problem(
        (Part(train, counts),),
        "chunk F1" if ChunkScheme(test.label_names).chunked else "token accuracy",
        Data(names[0], len(train), train.n_tokens),
        Data(names[1], len(test), test.n_tokens),
    )
