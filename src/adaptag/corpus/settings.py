"""The settings of data: the tag sets of words, and how documents are written."""

from __future__ import annotations

from dataclasses import dataclass

from adaptag.settings import AUTO, Settings, setting

__all__ = ["AS_IS", "FORMATS", "SCHEMES", "TAG_SETS", "DocumentFormat"]

# Labels of a word's first, inner and last character, and of a word of one character. With three
# labels such a word has the label of a beginning.
TAG_SETS = {
    "bie": ("B", "I", "E", "B"),
    "bies": ("B", "I", "E", "S"),
    "bmes": ("B", "M", "E", "S"),
}
FORMATS = ("svmlight", "counts", "text")

AS_IS = "as-is"  # labels are not converted to another scheme
SCHEMES = {"iob1": "BIO", "iob2": "BIO", "ioe2": "IEO", "bioes": "BIOES"}
"""The schemes of labels, each with the roles its labels may have.

In ``iob1`` a B only separates a chunk from one of the same type right before it; in ``iob2``, also
called BIO, every chunk begins with B; in ``ioe2`` every chunk ends with E; in ``bioes`` a chunk of
one token is S, and a longer one begins with B and ends with E.
"""


@dataclass(kw_only=True)
class DocumentFormat(Settings):
    """How documents are written, and how they become features."""

    format: str = setting(
        AUTO,
        "Format of the documents: svmlight (label index:value …), counts (feature:count … "
        "#label#:label), text (label<TAB>text), or auto: what the first line looks like.",
        " | ".join((AUTO, *FORMATS)),
        panel="Features",
    )
    bigrams: bool = setting(
        True,
        "With text: make features of pairs of neighbouring words too.",
        flag="--bigrams/--no-bigrams",
        panel="Features",
    )
    binary: bool | None = setting(
        None,
        "Give every feature that occurs the value 1, or the number of its occurrences (or its "
        "value).",
        flag="--binary/--counts",
        default_text="binary with text, else as written",
        panel="Features",
    )
