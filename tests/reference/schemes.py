"""Label schemes, chunk by chunk: slow and obvious, to check the fast code against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.crf import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence


def write(found: Sequence[tuple[int, int, str]], length: int, scheme: str) -> list[str]:
    """The labels of chunks (first, last, type), in order, in a scheme."""
    labels = ["O"] * length
    before = None  # the chunk before, by its last token and type
    for first, last, kind in found:
        roles = ["I"] * (last - first + 1)
        if scheme in ("iob2", "bioes") or (scheme == "iob1" and before == (first - 1, kind)):
            roles[0] = "B"
        if scheme in ("ioe2", "bioes"):
            roles[-1] = "E"
        if scheme == "bioes" and len(roles) == 1:
            roles = ["S"]
        labels[first : last + 1] = [f"{role}-{kind}" if kind else role for role in roles]
        before = (last, kind)
    return labels


def convert(labels: Sequence[str], scheme: str) -> list[str]:
    """The labels of a sentence in another scheme, as conlleval reads them."""
    return write(chunks(labels), len(labels), scheme)
