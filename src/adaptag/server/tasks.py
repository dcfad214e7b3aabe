"""What the server can be asked to do: the declaration of each task's requests and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.server.declarations import Anything, Body, Field, Flag, ListOf, Text, Token, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_NBEST", "TASKS", "Task"]

MAX_NBEST = 100

TEXT = Field(Text(), "A text.")
TEXTS = Field(ListOf(Text(), "a list of strings"), "Several texts.")
TOKENS = Field(
    ListOf(Token(), "a list of tokens"),
    "A sentence: its tokens, each a string or, for a model of several columns, a list of strings.",
)
SENTENCES = Field(
    ListOf(ListOf(Token(), "a list of tokens"), "a list of sentences, each a list of tokens"),
    "Several sentences.",
)
MODEL = Field(Text(), "The name of the model; needed where several can do this.")
PROBABILITIES = Field(Flag(), "Whether to answer with probabilities.", False)

NUMBER = {"type": "number"}
STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SPAN = _object(start=INTEGER, end=INTEGER, label=STRING, text=STRING, probability=NUMBER)
ARGUMENT = _object(feature=STRING, weight=NUMBER)


@dataclass(frozen=True)
class Task:
    """Something that a kind of model can do.

    Attributes:
        name: Its name; its path is ``/name``.
        kind: The kind of model that does it.
        summary: What it does.
        body: What a request holds.
        answer: The JSON Schema of the answer to one text or sentence.
    """

    name: str
    kind: str
    summary: str
    body: Body
    answer: dict[str, Any]


TASKS = (
    Task(
        "tag",
        "model",
        "Tag text or tokens: spans with character offsets for a text, labels for tokens.",
        Body(
            {
                "text": TEXT,
                "texts": TEXTS,
                "tokens": TOKENS,
                "sentences": SENTENCES,
                "model": MODEL,
                "probabilities": Field(
                    Flag(),
                    "Whether to answer with the probability of each span (which is the default "
                    "for texts) or of each token's label.",
                ),
                "nbest": Field(
                    Whole(0, MAX_NBEST), "How many of the best label sequences to answer with.", 0
                ),
                "constraints": Field(
                    Anything("a JSON object", dict, "object"),
                    "What the labels of each sentence satisfy, such as at_most_once: ['CITY'].",
                ),
            },
            inputs=("text", "texts", "tokens", "sentences"),
            example={"text": "2 cups chopped onions"},
        ),
        _object(
            spans=_list(SPAN),
            labels=_list(STRING),
            probabilities=_list(NUMBER),
            nbest=_list(_object(spans=_list(SPAN), labels=_list(STRING), probability=NUMBER)),
        ),
    ),
    Task(
        "segment",
        "segmenter",
        "Cut text into words, with their character offsets.",
        Body(
            {"text": TEXT, "texts": TEXTS, "model": MODEL, "probabilities": PROBABILITIES},
            inputs=("text", "texts"),
            example={"text": "我们在北京"},
        ),
        _object(words=_list(STRING), offsets=_list(_list(INTEGER)), probabilities=_list(NUMBER)),
    ),
    Task(
        "classify",
        "classifier",
        "Classify documents.",
        Body(
            {"text": TEXT, "texts": TEXTS, "model": MODEL, "probabilities": PROBABILITIES},
            inputs=("text", "texts"),
            example={"text": "a film to remember", "probabilities": True},
        ),
        _object(
            label=STRING, probabilities={"type": "object", "additionalProperties": dict(NUMBER)}
        ),
    ),
    Task(
        "explain",
        "model",
        "Explain the label of each token: the features for it and against it.",
        Body(
            {"text": TEXT, "tokens": TOKENS, "model": MODEL},
            inputs=("text", "tokens"),
            example={"text": "2 cups chopped onions"},
        ),
        _object(
            tokens=_list(
                _object(
                    token=STRING,
                    start=INTEGER,
                    end=INTEGER,
                    label=STRING,
                    probability=NUMBER,
                    rival=STRING,
                    rival_probability=NUMBER,
                    **{"for": _list(ARGUMENT), "against": _list(ARGUMENT)},
                )
            )
        ),
    ),
)
