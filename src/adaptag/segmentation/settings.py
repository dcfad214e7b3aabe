"""The settings of segmentation other than those of its features and of training."""

from __future__ import annotations

from dataclasses import dataclass

from adaptag.corpus.settings import TAG_SETS
from adaptag.settings import Settings, setting

__all__ = ["SegmenterSettings"]


@dataclass(kw_only=True)
class SegmenterSettings(Settings):
    """How words become labels, and the weight of rare words."""

    tags: str = setting(
        "bie",
        "Tag set of the characters: bies, bmes, or bie (a word of one character is B).",
        " | ".join(TAG_SETS),
        panel="Features",
    )
    # Chosen by four-fold cross-validation: see docs/guide/segmentation.md.
    rare_weight: float = setting(
        1.5,
        "Number that a word of the training data that is not a feature, because it is too rare or "
        "too long, adds to the score of its labels at each of its characters.",
        "[-1000, 1000]",
        panel="Features",
    )
