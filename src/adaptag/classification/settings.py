"""The settings of the features of documents."""

from __future__ import annotations

from dataclasses import dataclass

from adaptag.features.settings import CountedFeatures
from adaptag.settings import setting

__all__ = ["DocumentFeatures"]


@dataclass(kw_only=True)
class DocumentFeatures(CountedFeatures):
    """Which features of documents are kept, and how their values are scaled."""

    normalise: bool | None = setting(
        None,
        "Scale each document to the same length, or all documents by one factor.",
        flag="--normalise/--no-normalise",
        default_text="normalise, but not with svmlight, where the length may mean something",
        panel="Features",
    )
