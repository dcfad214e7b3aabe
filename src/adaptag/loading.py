"""Models of any kind, from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.corpus.tokenizers import is_segmenter_file
from adaptag.storage.tensors import kind_of

if TYPE_CHECKING:
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.decoding.model import Model
    from adaptag.model.linear_chain import LinearChain
    from adaptag.segmentation.predictor import SegmentPredictor
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.storage.files import PathLike

    AnyModel = Model | Segmenter | DocumentClassifier

__all__ = ["chain_of", "load", "load_tokenizer"]


def load(path: PathLike, *, verify: bool = False, copy: bool = False) -> AnyModel:
    """Load a model of any kind, full or compact: the file says which kind it is.

    Args:
        path: The file.
        verify: Whether to check the checksum of the arrays even in a file larger than 64 MiB.
        copy: Whether to read even a file larger than 256 MiB into memory instead of mapping it, so
            that it may be overwritten while it is in use.

    Returns:
        A ``Model`` that tags, a ``Segmenter`` or a ``DocumentClassifier``.
    """
    kind = kind_of(path)
    if kind == "segmenter":
        from adaptag.segmentation.segmenter import Segmenter

        return Segmenter.load(path, verify=verify, copy=copy)
    if kind == "classifier":
        from adaptag.classification.documents import DocumentClassifier

        return DocumentClassifier.load(path, verify=verify, copy=copy)
    from adaptag.decoding.model import Model

    return Model.load(path, verify=verify, copy=copy)


def load_tokenizer(tokenizer: Any) -> Any:
    """Load a segmenter that is given as a tokenizer by its path; all else stays as it is."""
    if not is_segmenter_file(tokenizer):
        return tokenizer
    from adaptag.segmentation.segmenter import Segmenter

    return Segmenter.load(tokenizer)


def chain_of(model: AnyModel) -> LinearChain[Any] | SegmentPredictor:
    """The labels, features and weights of a model of any kind; those of a compact segmenter."""
    if model.kind == "segmenter":
        return model.model_  # type: ignore[union-attr]
    return model.model if model.kind == "classifier" else model  # type: ignore[union-attr,return-value]
