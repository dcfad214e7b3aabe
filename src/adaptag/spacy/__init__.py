"""adaptag in pipelines of spaCy: a component that tags, a tokenizer, and documents as files.

It needs the extra: ``pip install 'adaptag[spacy]'``. spaCy finds the component ``adaptag`` and the
tokenizer ``adaptag_zh`` by itself. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from adaptag.corpus.docbin import require_spacy

if TYPE_CHECKING:
    from adaptag.corpus.docbin import DocBinFormat as DocBinFormat
    from adaptag.corpus.docbin import read_docbin as read_docbin
    from adaptag.spacy.component import AdaptagComponent as AdaptagComponent
    from adaptag.spacy.docs import to_docbin as to_docbin
    from adaptag.spacy.tokenizer import AdaptagTokenizer as AdaptagTokenizer

_PLACES = {
    "AdaptagComponent": "adaptag.spacy.component",
    "AdaptagTokenizer": "adaptag.spacy.tokenizer",
    "DocBinFormat": "adaptag.corpus.docbin",
    "read_docbin": "adaptag.corpus.docbin",
    "to_docbin": "adaptag.spacy.docs",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        require_spacy()
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'adaptag.spacy' has no attribute {name!r}")
