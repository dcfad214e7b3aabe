"""What models answer: inputs of one form in, answers that are ready for JSON out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.data import CLASSIFICATION, corpus_of
from adaptag.server.batching import Answered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adaptag.classification.documents import DocumentClassifier
    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.explanation import TokenExplanation
    from adaptag.decoding.model import Model
    from adaptag.segmentation.segmenter import Segmenter

__all__ = ["ANSWERS", "Options"]

DIGITS = 6  # of probabilities
ARGUMENTS = 8  # features for and against a label, each


@dataclass(frozen=True)
class Options:
    """What is asked for.

    Attributes:
        task: What to do: ``tag``, ``segment``, ``classify`` or ``explain``.
        is_text: Whether the inputs are texts, not sentences of tokens.
        probabilities: Whether to answer with probabilities.
        nbest: How many of the best label sequences to answer with.
        threads: How many threads may be used; None means all cores.
    """

    task: str
    is_text: bool
    probabilities: bool = False
    nbest: int = 0
    threads: int | None = None


def tag(model: Model, inputs: Sequence[Any], options: Options) -> Answered:
    """Tag texts or sentences."""
    return (_tag_texts if options.is_text else _tag_sentences)(model, inputs, options)


def _tag_texts(model: Model, texts: Sequence[str], options: Options) -> Answered:
    tagged = model.tag_texts(list(texts))
    answers = [{"spans": [span_dict(span) for span in each.spans]} for each in tagged]
    if options.nbest:
        for answer, each in zip(answers, tagged, strict=True):
            answer["nbest"] = _text_alternatives(model, each, options.nbest)
    return Answered(answers, sum(len(each.tokens) for each in tagged))


def span_dict(span: Any) -> dict[str, Any]:
    """A span, ready for JSON."""
    record = {"start": span.start, "end": span.end, "label": span.label, "text": span.text}
    if span.probability is not None:
        record["probability"] = round(span.probability, DIGITS)
    return record


def _text_alternatives(model: Model, tagged: TaggedText, n: int) -> list[dict[str, Any]]:
    """The best label sequences of a text, as spans."""
    if not tagged.tokens:
        return []
    numbers = {label: number for number, label in enumerate(model.labels)}
    alternatives = []
    for labels, probability in model.nbest(_token_texts(tagged), n):
        ids = np.array([numbers[label] for label in labels], np.int32)
        spans = model.scheme.spans(ids, np.array([0, len(ids)], np.int64)).tolist()
        alternatives.append(
            {
                "spans": [
                    {
                        "start": tagged.tokens[first][0],
                        "end": tagged.tokens[end - 1][1],
                        "label": model.scheme.types[kind],
                    }
                    for first, end, kind in spans
                ],
                "probability": round(probability, DIGITS),
            }
        )
    return alternatives


def _token_texts(tagged: TaggedText) -> list[str]:
    return [tagged.text[start:end] for start, end in tagged.tokens]


def _tag_sentences(model: Model, sentences: Sequence[Any], options: Options) -> Answered:
    n_tokens = sum(map(len, sentences))
    if not options.probabilities and not options.nbest:
        found = model.tag_all(sentences, threads=options.threads)
        return Answered([{"labels": labels} for labels in found], n_tokens)
    corpus = corpus_of(sentences, labelled=False, tokens=not model.index.template.attributes)
    encoded = model.index.encode(corpus, threads=options.threads)
    names = model.labels
    ids = model.tag_encoded(encoded, threads=options.threads)
    bounds = list(itertools.pairwise(encoded.sentences.tolist()))
    numbers = ids.tolist()
    answers: list[dict[str, Any]] = [
        {"labels": [names[y] for y in numbers[begin:end]]} for begin, end in bounds
    ]
    if options.probabilities:
        table = model.marginals_encoded(encoded, threads=options.threads)
        chosen = table[np.arange(len(ids)), ids].tolist()
        for answer, (begin, end) in zip(answers, bounds, strict=True):
            answer["probabilities"] = [round(p, DIGITS) for p in chosen[begin:end]]
    if options.nbest:
        found_paths = model.nbest_corpus(corpus, options.nbest, threads=options.threads)
        for answer, (paths, scores) in zip(answers, found_paths, strict=True):
            answer["nbest"] = [
                {"labels": [names[y] for y in path], "probability": round(p, DIGITS)}
                for path, p in zip(paths.tolist(), np.exp(scores).tolist(), strict=True)
            ]
    return Answered(answers, n_tokens)


def explain(model: Model, inputs: Sequence[Any], options: Options) -> Answered:
    """Explain the label of each token."""
    answers, n_tokens = [], 0
    tagged = model.tag_texts(list(inputs)) if options.is_text else [None] * len(inputs)
    for item, text in zip(inputs, tagged, strict=True):
        tokens = item if text is None else _token_texts(text)
        choices = [_choice(choice) for choice in model.explain(tokens)] if tokens else []
        if text is not None:
            for record, (start, end) in zip(choices, text.tokens, strict=True):
                record |= {"start": start, "end": end}
        answers.append({"tokens": choices})
        n_tokens += len(tokens)
    return Answered(answers, n_tokens)


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
    documents = corpus_of(list(inputs), task=CLASSIFICATION, format=model.format, labelled=False)
    names = model.labels
    if not options.probabilities:
        numbers = model.predict(documents.corpus, options.threads).tolist()
        return Answered([{"label": names[y]} for y in numbers], len(inputs))
    answers = []
    for row in model.probabilities(documents.corpus, options.threads).tolist():
        chances = {name: round(p, DIGITS) for name, p in zip(names, row, strict=True)}
        answers.append({"label": names[row.index(max(row))], "probabilities": chances})
    return Answered(answers, len(inputs))


ANSWERS: dict[str, Callable[[Any, Sequence[Any], Options], Answered]] = {
    "tag": tag,
    "explain": explain,
    "segment": segment,
    "classify": classify,
}
