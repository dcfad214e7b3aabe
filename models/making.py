"""What all ready models are made with: training twice, compaction, scores, cards."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import adaptag
from adaptag.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from adaptag.decoding.model import Model

__all__ = ["LARGEST", "LICENCE", "Card", "Scored", "pairs_f1", "train_tagger", "write"]

LARGEST = 3_000_000  # bytes of a ready model
LICENCE = "CC BY-SA 4.0"
TAGGER_LOSS = 0.05  # of the accuracy on the development data, in percentage points


@dataclass(frozen=True)
class Scored:
    """A score of a model.

    Attributes:
        data: What it was scored on.
        domain: ``in``: text like that of the training data; ``out``: other text; ``dev``: the data
            that settings were chosen on.
        metric: What was measured.
        value: The score.
        remark: What to know about it.
    """

    data: str
    domain: str
    metric: str
    value: float
    remark: str = ""


@dataclass
class Card:
    """What there is to know about a ready model."""

    name: str
    description: str
    use: str
    data: list[dict[str, str]]
    settings: dict[str, Any]
    chosen: str
    scores: list[Scored] = field(default_factory=list)
    labels: Sequence[str] = ()
    segmenter: str | None = None

    def add(self, data: str, domain: str, metric: str, value: float, remark: str = "") -> None:
        """Add a score."""
        self.scores.append(Scored(data, domain, metric, round(value, 2), remark))

    def to_dict(self, n_bytes: int, full_bytes: int) -> dict[str, Any]:
        """The content of the file, ready for JSON."""
        own = {"segmenter": self.segmenter} if self.segmenter else {}
        return {
            "name": self.name,
            "description": self.description,
            "use": self.use,
            "licence": LICENCE,
            "bytes": n_bytes,
            "full_bytes": full_bytes,
            "adaptag": adaptag.__version__,
            "labels": list(self.labels),
            **own,
            "settings": self.settings,
            "chosen": self.chosen,
            "data": self.data,
            "scores": [vars(score) for score in self.scores],
        }


def write(folder: Path, card: Card, small: Any, full: Any) -> None:
    """Write a model and its card; raise where the model is too large."""
    data = small.to_bytes()
    if len(data) > LARGEST:
        raise ModelError(f"{card.name}: {len(data):,} bytes; allowed: at most {LARGEST:,}")
    folder.mkdir(parents=True, exist_ok=True)
    small.save(folder / f"{card.name}.adaptag")
    text = json.dumps(card.to_dict(len(data), len(full.to_bytes())), ensure_ascii=False, indent=1)
    (folder / f"{card.name}.json").write_text(f"{text}\n", encoding="utf-8")
    for score in card.scores:
        print(f"{card.name}: {score.metric} {score.value:.2f} ({score.domain}) on {score.data}")
    print(f"{card.name}: {len(data) / 1e6:.2f} MB")


def train_tagger(
    train: list[Any], dev: list[Any], settings: dict[str, Any], **features: Any
) -> tuple[Model, Model, dict[str, Any], float]:
    """Train on the training data to choose passes, temperature and threshold, then on all data.

    Returns:
        The compact model, the full one, what was chosen, and the accuracy on the development data
        of the compact model that was trained without them.
    """
    first = adaptag.train(train, dev=dev, calibrate=True, **settings, **features)
    passes = max(first.provenance["passes"], key=lambda each: each["dev_score"])["pass"]
    small = first.compact(within=TAGGER_LOSS, dev=dev)
    threshold = small.provenance["compact"]["prune"]
    full = adaptag.train([*train, *dev], passes=passes, **settings, **features)
    full = full.with_temperature(first.temperature)
    chosen = {
        "passes": passes,
        "prune": threshold,
        "temperature": round(first.temperature, 3),
    }
    return full.compact(prune=threshold), full, chosen, small.evaluate(dev).accuracy


def pairs_f1(
    found: Iterable[Sequence[tuple[str, str]]], right: Iterable[Sequence[tuple[str, str]]]
) -> float:
    """The F1 of words with their tags, in percent: right where word, place and tag agree."""
    n_found = n_right = n_both = 0
    for one, other in zip(found, right, strict=True):
        a, b = _placed(one), _placed(other)
        n_found, n_right, n_both = n_found + len(a), n_right + len(b), n_both + len(a & b)
    return 200 * n_both / max(1, n_found + n_right)


def _placed(pairs: Sequence[tuple[str, str]]) -> set[tuple[int, int, str]]:
    placed, end = set(), 0
    for word, tag in pairs:
        placed.add((end, end + len(word), tag))
        end += len(word)
    return placed
