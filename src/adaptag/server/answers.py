"""What models answer: inputs of one form in, answers that are ready for JSON out."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adaptag.corpus.data import corpus_of
from adaptag.corpus.span_files import OUTSIDE
from adaptag.corpus.tokenizers import tokenizer_of
from adaptag.decoding.options import DecodingOptions
from adaptag.decoding.texts import check_takes_text, tag_texts
from adaptag.server.batching import Answered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from adaptag.classification.documents import DocumentClassifier
    from adaptag.corpus.spans import Span
    from adaptag.corpus.tokenizers import Place
    from adaptag.decoding.constraints import Constraints
    from adaptag.decoding.explanation import TokenExplanation
    from adaptag.decoding.model import Model
    from adaptag.segmentation.segmenter import Segmenter

__all__ = ["ANSWERS", "Options"]

DIGITS = 6  # of probabilities
ARGUMENTS = 8  # features for and against a label, each


class Options(NamedTuple):
    """What is asked for.

    Attributes:
        task: What to do: ``tag``, ``segment``, ``classify`` or ``explain``.
        is_text: Whether the inputs are texts, not sentences of tokens.
        probabilities: Whether to answer with probabilities.
        nbest: How many of the best label sequences to answer with.
        threads: How many threads may be used; None means all cores.
        constraints: What the labels of each sentence satisfy.
    """

    task: str
    is_text: bool
    probabilities: bool = False
    nbest: int = 0
    threads: int | None = None
    constraints: Constraints | None = None

    @property
    def decoding(self) -> DecodingOptions:
        """How labels are found."""
        return DecodingOptions(None, self.constraints, self.threads)


def tag(model: Model, inputs: Sequence[Any], options: Options) -> Answered:
    """Tag texts or sentences."""
    return (_tag_texts if options.is_text else _tag_sentences)(model, inputs, options)


def _tag_texts(model: Model, texts: Sequence[str], options: Options) -> Answered:
    tagged = tag_texts(model, texts, options.decoding, probabilities=options.probabilities)
    answers = [{"spans": [span_dict(span) for span in each.spans]} for each in tagged]
    if options.nbest:
        for answer, text in zip(answers, texts, strict=True):
            answer["nbest"] = _text_alternatives(model, text, options)
    return Answered(answers, sum(len(each.tokens) for each in tagged))


def span_dict(span: Span) -> dict[str, Any]:
    """A span, ready for JSON."""
    record = {"start": span.start, "end": span.end, "label": span.label, "text": span.text}
    if span.probability is not None:
        record["probability"] = round(span.probability, DIGITS)
    return record


def _lines(model: Model, text: str) -> list[tuple[list[Place], list[str]]]:
    """The lines of a text, which are tagged each by itself: the places and texts of the tokens."""
    lines = tokenizer_of(model.tokenizer)(text)
    return [(line, [text[start:end] for start, end in line]) for line in lines if line]


def _text_alternatives(model: Model, text: str, options: Options) -> list[dict[str, Any]]:
    """The most probable label sequences of a text, as spans.

    Lines are independent, so the best sequences of a text are made of the best ones of its lines.
    """
    lines = _lines(model, text)
    if not lines:
        return []
    corpus = corpus_of([tokens for _, tokens in lines], labelled=False, tokens=True)
    paths: list[NDArray[np.int32]] = []
    best: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for found, scores in model.nbest_corpus(corpus, options.nbest, options.decoding):
        paths.append(found)
        best = best_sums(best, scores.tolist(), options.nbest)
    return [
        {
            "spans": [
                {"start": start, "end": end, "label": label}
                for (places, _), found, rank in zip(lines, paths, ranks, strict=True)
                for start, end, label in _path_spans(model, places, found[rank])
            ],
            "probability": round(math.exp(score), DIGITS),
        }
        for ranks, score in best
    ]


def best_sums(
    left: Sequence[tuple[tuple[int, ...], float]], right: Sequence[float], n: int
) -> list[tuple[tuple[int, ...], float]]:
    """The ``n`` largest sums of one score of either list, both sorted with the largest first.

    Args:
        left: Ranks in earlier lists, and the sum of the scores that they stand for.
        right: The scores of another list.
        n: How many sums to find.
    """
    frontier = [(-left[0][1] - right[0], 0, 0)]
    best: list[tuple[tuple[int, ...], float]] = []
    while frontier and len(best) < n:
        negative, i, j = heapq.heappop(frontier)
        best.append(((*left[i][0], j), -negative))
        if j + 1 < len(right):
            heapq.heappush(frontier, (-left[i][1] - right[j + 1], i, j + 1))
        if j == 0 and i + 1 < len(left):
            heapq.heappush(frontier, (-left[i + 1][1] - right[0], i + 1, 0))
    return best


def _path_spans(
    model: Model, places: list[Place], path: NDArray[np.int32]
) -> Iterator[tuple[int, int, str]]:
    """The spans of a label sequence: chunks, or the tokens whose label is not ``O``."""
    if model.scheme.chunked:
        rows = model.scheme.spans(path, np.array([0, len(path)], np.int64)).tolist()
        for first, end, kind in rows:
            yield places[first][0], places[end - 1][1], model.scheme.types[kind]
        return
    for (start, end), number in zip(places, path.tolist(), strict=True):
        if model.labels[number] != OUTSIDE:
            yield start, end, model.labels[number]


def _tag_sentences(model: Model, sentences: Sequence[Any], options: Options) -> Answered:
    n_tokens = sum(map(len, sentences))
    if not options.probabilities and not options.nbest:
        found = model.tag_all(sentences, threads=options.threads, constraints=options.constraints)
        return Answered([{"labels": labels} for labels in found], n_tokens)
    corpus = corpus_of(sentences, labelled=False, tokens=not model.index.template.attributes)
    encoded = model.index.encode(corpus, threads=options.threads)
    names = model.labels
    ids = model.tag_encoded(encoded, options.decoding)
    bounds = list(itertools.pairwise(encoded.sentences.tolist()))
    numbers = ids.tolist()
    answers: list[dict[str, Any]] = [
        {"labels": [names[y] for y in numbers[begin:end]]} for begin, end in bounds
    ]
    if options.probabilities:
        table = model.marginals_encoded(encoded, options.decoding)
        chosen = table[np.arange(len(ids)), ids].tolist()
        for answer, (begin, end) in zip(answers, bounds, strict=True):
            answer["probabilities"] = [round(p, DIGITS) for p in chosen[begin:end]]
    if options.nbest:
        found_paths = model.nbest_encoded(encoded, options.nbest, options.decoding)
        for answer, (paths, scores) in zip(answers, found_paths, strict=True):
            answer["nbest"] = [
                {"labels": [names[y] for y in path], "probability": round(p, DIGITS)}
                for path, p in zip(paths.tolist(), np.exp(scores).tolist(), strict=True)
            ]
    return Answered(answers, n_tokens)


def explain(model: Model, inputs: Sequence[Any], options: Options) -> Answered:
    """Explain the label of each token."""
    answers = []
    for item in inputs:
        if not options.is_text:
            choices = [_choice(choice) for choice in model.explain(item)] if item else []
        else:
            check_takes_text(model)
            choices = [
                {**_choice(choice), "start": start, "end": end}
                for places, tokens in _lines(model, item)
                for choice, (start, end) in zip(model.explain(tokens), places, strict=True)
            ]
        answers.append({"tokens": choices})
    return Answered(answers, sum(len(answer["tokens"]) for answer in answers))


def _choice(choice: TokenExplanation) -> dict[str, Any]:
    """The explanation of one token, ready for JSON, with the strongest arguments."""
    arguments = [
        {"feature": item.name, "weight": round(item.weight, 4)} for item in choice.arguments
    ]
    return {
        "token": " ".join(choice.token),
        "label": choice.label,
        "probability": round(choice.probability, DIGITS),
        "rival": choice.rival or None,
        "rival_probability": round(choice.rival_probability, DIGITS),
        "for": [item for item in arguments if item["weight"] > 0][:ARGUMENTS],  # type: ignore[operator]
        "against": [item for item in arguments if item["weight"] < 0][:ARGUMENTS],  # type: ignore[operator]
    }


def segment(model: Segmenter, inputs: Sequence[str], options: Options) -> Answered:
    """Cut texts into words."""
    answers: list[dict[str, Any]] = []
    if options.probabilities:
        for words in model.words_all(inputs, options.threads):
            kept = [word for word in words if not word.text.isspace()]
            answers.append(
                {
                    "words": [word.text for word in kept],
                    "offsets": [[word.start, word.start + len(word.text)] for word in kept],
                    "probabilities": [round(word.probability, DIGITS) for word in kept],
                }
            )
    else:
        for cut in model.cut_all(inputs, options.threads):
            ends = itertools.accumulate(map(len, cut))
            found = [
                (word, [end - len(word), end])
                for word, end in zip(cut, ends, strict=True)
                if not word.isspace()
            ]
            answers.append({"words": [w for w, _ in found], "offsets": [o for _, o in found]})
    return Answered(answers, sum(len(answer["words"]) for answer in answers))


def classify(model: DocumentClassifier, inputs: Sequence[str], options: Options) -> Answered:
    """Classify texts."""
    if not options.probabilities:
        labels = model.predict(inputs, options.threads)
        return Answered([{"label": label} for label in labels], len(inputs))
    names = model.labels
    answers = []
    for row in model.probabilities(inputs, options.threads).tolist():
        chances = {name: round(p, DIGITS) for name, p in zip(names, row, strict=True)}
        answers.append({"label": names[row.index(max(row))], "probabilities": chances})
    return Answered(answers, len(inputs))


ANSWERS: dict[str, Callable[[Any, Sequence[Any], Options], Answered]] = {
    "tag": tag,
    "explain": explain,
    "segment": segment,
    "classify": classify,
}
