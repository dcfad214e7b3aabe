"""Models of any kind, from their files or by the names of ready models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.corpus.tokenizers import is_segmenter_file
from adaptag.storage.ready import card_of, is_ready
from adaptag.storage.tensors import kind_of

if TYPE_CHECKING:
    from adaptag.classification.documents import DocumentClassifier
    from adaptag.decoding.model import Model
    from adaptag.model.linear_chain import LinearChain
    from adaptag.segmentation.predictor import SegmentPredictor
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.segmentation.word_tagger import WordTagger
    from adaptag.storage.files import PathLike

    AnyModel = Model | Segmenter | DocumentClassifier

__all__ = ["chain_of", "load", "load_file", "load_tokenizer", "segmenter_of"]


def load(path: PathLike, *, verify: bool = False, copy: bool = False) -> AnyModel | WordTagger:
    """Load a model of any kind, full or compact: the file says which kind it is.

    Args:
        path: The file; or ``en-pos``, ``zh-words`` or ``zh-pos``, the ready models of the extra
            ``adaptag[models]``. Where there is a file of that name, it is the file.
        verify: Whether to check the checksum of the arrays even in a file larger than 64 MiB.
        copy: Whether to read even a file larger than 256 MiB into memory instead of mapping it, so
            that it may be overwritten while it is in use.

    Returns:
        A ``Model`` that tags, a ``Segmenter`` or a ``DocumentClassifier``; for ``zh-pos`` a
        ``WordTagger``.
    """
    model = load_file(path, verify=verify, copy=copy)
    words = segmenter_of(path)
    if words is None:
        return model
    from adaptag.decoding.model import Model
    from adaptag.segmentation.segmenter import Segmenter
    from adaptag.segmentation.word_tagger import WordTagger

    assert isinstance(model, Model)
    return WordTagger(Segmenter.load(words), model)


def load_file(path: PathLike, *, verify: bool = False, copy: bool = False) -> AnyModel:
    """Load the model of one file; the arguments are those of ``load``."""
    kind = kind_of(path)
    if kind == "segmenter":
        from adaptag.segmentation.segmenter import Segmenter

        return Segmenter.load(path, verify=verify, copy=copy)
    if kind == "classifier":
        from adaptag.classification.documents import DocumentClassifier

        return DocumentClassifier.load(path, verify=verify, copy=copy)
    from adaptag.decoding.model import Model

    return Model.load(path, verify=verify, copy=copy)


def segmenter_of(path: PathLike) -> str | None:
    """The ready segmenter that a ready tagger gets its words from; None for any other model."""
    if not is_ready(path):
        return None
    name: str | None = card_of(str(path)).get("segmenter")
    return name


def load_tokenizer(tokenizer: Any, model: PathLike | None = None) -> Any:
    """Load a segmenter that is given as a tokenizer by its path; all else stays as it is.

    Args:
        tokenizer: The tokenizer.
        model: The model whose words are cut, where none is given: a ready one may have its own.
    """
    if tokenizer is None and model is not None:
        tokenizer = segmenter_of(model)
    if not is_segmenter_file(tokenizer):
        return tokenizer
    from adaptag.segmentation.segmenter import Segmenter

    return Segmenter.load(tokenizer)


def chain_of(model: AnyModel) -> LinearChain[Any] | SegmentPredictor:
    """The labels, features and weights of a model of any kind; those of a compact segmenter."""
    if model.kind == "segmenter":
        return model.model_  # type: ignore[union-attr]
    return model.model if model.kind == "classifier" else model  # type: ignore[union-attr,return-value]
