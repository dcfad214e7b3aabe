"""The counts of conlleval, token by token: slow and obvious, to check the fast code against.

Each rule is a pair of prefixes, previous and current. The pairs of the original script come first,
then those that BIOES needs on top: a B or S after E, and anything around an S.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
ENDS |= {"EB", "ES", "BS", "IS", "SB", "SI", "SE", "SO", "SS"}
STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
STARTS |= {"EB", "ES", "BS", "IS", "OS", "SB", "SI", "SE", "SS"}
ALIASES = {"L": "E", "U": "S", "M": "I"}

Tag = tuple[str, str]


def parse(label: str) -> Tag:
    prefix, _, kind = label.partition("-")
    return ALIASES.get(prefix, prefix), kind


def chunk_ends(previous: Tag, current: Tag) -> bool:
    if previous[0] != "O" and previous[1] != current[1]:
        return True
    return previous[0] + current[0] in ENDS


def chunk_starts(previous: Tag, current: Tag) -> bool:
    if current[0] != "O" and previous[1] != current[1]:
        return True
    return previous[0] + current[0] in STARTS


@dataclass
class Counts:
    tokens: int = 0
    correct_tokens: int = 0
    correct: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    gold: Counter[str] = field(default_factory=Counter)


def token_pairs(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str] | None]:
    """The gold and the predicted label of each token; none after each sentence."""
    for truth, guess in zip(gold, predicted, strict=True):
        yield from zip(truth, guess, strict=True)
        yield None


def count(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counts:
    counts = Counts()
    last_truth = last_guess = ("O", "")
    matching = False  # inside a gold chunk that the prediction has matched so far
    for pair in token_pairs(gold, predicted):
        truth, guess = map(parse, pair or ("O", "O"))

        if matching:
            truth_ends = chunk_ends(last_truth, truth)
            guess_ends = chunk_ends(last_guess, guess)
            if truth_ends and guess_ends and last_truth[1] == last_guess[1]:
                matching = False
                counts.correct[last_truth[1]] += 1
            elif truth_ends != guess_ends or truth[1] != guess[1]:
                matching = False

        truth_starts = chunk_starts(last_truth, truth)
        guess_starts = chunk_starts(last_guess, guess)
        if truth_starts and guess_starts and truth[1] == guess[1]:
            matching = True
        if truth_starts:
            counts.gold[truth[1]] += 1
        if guess_starts:
            counts.predicted[guess[1]] += 1

        if pair:
            counts.tokens += 1
            counts.correct_tokens += pair[0] == pair[1]
        last_truth, last_guess = truth, guess
    return counts


def conlleval(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, object]:
    """Tokens, correct tokens, accuracy, and (correct, predicted, gold) overall and by type."""
    counts = count(gold, predicted)
    columns = (counts.correct, counts.predicted, counts.gold)
    return {
        "tokens": counts.tokens,
        "correct_tokens": counts.correct_tokens,
        "accuracy": 100 * counts.correct_tokens / counts.tokens if counts.tokens else 0.0,
        "overall": tuple(column.total() for column in columns),
        "by_type": {
            kind: tuple(column[kind] for column in columns)
            for kind in sorted(counts.gold | counts.predicted)
        },
    }
