"""Tagged sentences as other programs print them: CRF++'s ``crf_test`` and ``wapiti label``."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np

from adaptag.decoding.double_precision import DoubleScorer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnCorpus
    from adaptag.decoding.model import Model
    from adaptag.decoding.tagged import TagOptions

    Paths = tuple[NDArray[np.int32], NDArray[np.float64]]  # [k, T], and their log-probabilities
    Marginals = NDArray[np.float64] | NDArray[np.float32]  # [T, Y]

__all__ = ["PROGRAM_FORMATS", "as_program"]

LABELS_ONLY = ("crf++", "wapiti")  # the formats without probabilities, unless there are n best


def as_program(model: Model, options: TagOptions, corpus: ColumnCorpus) -> Iterator[bytes]:
    """Write tagged sentences, in one of the formats of ``PROGRAM_FORMATS``."""
    write = PROGRAM_FORMATS[options.output_format]
    for sentence, decoded in enumerate(_sentences(model, options, corpus)):
        tokens = corpus.sentence(sentence)
        for line in write(tokens, model.labels, decoded, options.nbest):
            yield f"{line}\n".encode()


class _Decoded:
    """What is asked for of one sentence; marginals are computed where they are used."""

    def __init__(self, paths: Paths, marginals: Callable[[], Marginals] | None) -> None:
        self.paths, self.log_probabilities = paths
        self._marginals = marginals

    def marginals(self) -> Marginals:
        """The probability of each label at each token."""
        if self._marginals is None:
            raise ValueError("an output without probabilities")
        return self._marginals()


def _sentences(model: Model, options: TagOptions, corpus: ColumnCorpus) -> Iterator[_Decoded]:
    """Decode; the probabilities of a model of another program are float64."""
    n, how = options.nbest, options.decoding()
    if n == 1 and options.output_format in LABELS_ONLY:
        ids = model.tag_corpus(corpus, how)
        for begin, end in itertools.pairwise(corpus.sentences.tolist()):
            yield _Decoded((ids[None, begin:end], np.zeros(1)), None)
        return
    paths = model.nbest_corpus(corpus, n, how)
    if model.original is None or how.legal is not None or how.constraints is not None:
        table = model.marginals_corpus(corpus, how)
        bounds = itertools.pairwise(corpus.sentences.tolist())
        for found, (begin, end) in zip(paths, bounds, strict=True):
            yield _Decoded(found, functools.partial(table.__getitem__, slice(begin, end)))
        return
    scorer = DoubleScorer(model)
    encoded = model.index.encode(corpus, threads=1)
    for k, (best, _) in enumerate(paths):
        lattice = scorer.lattice(encoded, k)
        log_p = lattice.log_probabilities(best)
        order = np.argsort(-log_p, kind="stable")
        yield _Decoded((best[order], log_p[order]), lattice.marginals)


def _crfpp(
    tokens: ColumnCorpus, labels: Sequence[str], decoded: _Decoded, n: int, verbosity: int = 0
) -> Iterator[str]:
    """What ``crf_test`` prints, with ``-v`` and ``-n``."""
    marginals = decoded.marginals() if verbosity else None
    for rank, path in enumerate(decoded.paths.tolist()):
        p = np.exp(decoded.log_probabilities[rank])
        if n > 1:
            yield f"# {rank} {p:.6f}"
        elif verbosity:
            yield f"# {p:.6f}"
        for t, (row, y) in enumerate(zip(_cells(tokens), path, strict=True)):
            cells = [*row, labels[y]]
            if marginals is not None:
                cells[-1] += f"/{marginals[t, y]:.6f}"
                if verbosity > 1:
                    cells += _with_probabilities(labels, marginals[t])
            yield "\t".join(cells)
        yield ""


def _crfpp_v1(
    tokens: ColumnCorpus, labels: Sequence[str], decoded: _Decoded, n: int
) -> Iterator[str]:
    return _crfpp(tokens, labels, decoded, n, 1)


def _crfpp_v2(
    tokens: ColumnCorpus, labels: Sequence[str], decoded: _Decoded, n: int
) -> Iterator[str]:
    return _crfpp(tokens, labels, decoded, n, 2)


def _with_probabilities(labels: Sequence[str], probabilities: Iterable[float]) -> list[str]:
    return [f"{label}/{p:.6f}" for label, p in zip(labels, probabilities, strict=True)]


def _wapiti(
    tokens: ColumnCorpus, labels: Sequence[str], decoded: _Decoded, n: int
) -> Iterator[str]:
    """What ``wapiti label`` prints, with ``-n``."""
    del n
    for path in decoded.paths.tolist():
        yield from (f"{line}\t{labels[y]}" for line, y in zip(_lines(tokens), path, strict=True))
        yield ""


def _wapiti_scores(
    tokens: ColumnCorpus, labels: Sequence[str], decoded: _Decoded, n: int
) -> Iterator[str]:
    """What ``wapiti label -p -s`` prints, with ``-n``: decoded by posterior probabilities.

    Every token has its likeliest label, whatever the others have; the score of a sequence is the
    product of the probabilities of its labels.
    """
    marginals = decoded.marginals()
    for rank, (path, score) in enumerate(_likeliest(marginals, n)):
        yield f"# {rank} {score:.6f}"
        for t, (line, y) in enumerate(zip(_lines(tokens), path, strict=True)):
            yield f"{line}\t{labels[y]}\t{labels[y]}/{marginals[t, y]:.6f}"
        yield ""


def _likeliest(marginals: Marginals, n: int) -> list[tuple[list[int], float]]:
    """The ``n`` sequences whose labels have the largest product of probabilities ``[T, Y]``."""
    scores, back = np.ones(1), []
    for row in marginals:
        products = np.outer(scores, row).ravel()
        best = np.argsort(-products, kind="stable")[:n]
        scores = products[best]
        back.append(best.tolist())
    paths = []
    for rank, score in enumerate(scores.tolist()):
        path: list[int] = []
        for best in reversed(back):
            rank, label = divmod(best[rank], marginals.shape[1])
            path.append(label)
        paths.append((path[::-1], score))
    return paths


def _cells(tokens: ColumnCorpus) -> list[list[str]]:
    """The cells of each token."""
    text = tokens.text
    return [
        [text[begin:end].tobytes().decode() for begin, end in row] for row in tokens.cells.tolist()
    ]


def _lines(tokens: ColumnCorpus) -> list[str]:
    """The line of each token, from its first to its last cell."""
    bounds = zip(tokens.cells[:, 0, 0].tolist(), tokens.cells[:, -1, 1].tolist(), strict=True)
    return [tokens.text[begin:end].tobytes().decode() for begin, end in bounds]


PROGRAM_FORMATS: dict[str, Callable[[ColumnCorpus, Sequence[str], _Decoded, int], Iterator[str]]]
PROGRAM_FORMATS = {
    "crf++": _crfpp,
    "crf++-v1": _crfpp_v1,
    "crf++-v2": _crfpp_v2,
    "wapiti": _wapiti,
    "wapiti-scores": _wapiti_scores,
}
