"""The tokenizer ``adaptag_zh``: a segmenter cuts texts into the words of documents.

Annotations are real types here, since spaCy checks configurations against them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spacy import util
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import DummyTokenizer
from spacy.vocab import Vocab

from adaptag.spacy.docs import words_and_spaces
from adaptag.spacy.serialization import CarriesModel

__all__ = ["AdaptagTokenizer", "make_tokenizer"]


def make_tokenizer(
    model: str | None = None, training: dict[str, Any] | None = None
) -> Callable[[Language], "AdaptagTokenizer"]:
    """Make a function that makes the tokenizer of a pipeline, as configurations need it.

    Args:
        model: The file of a segmenter; None until it is trained, or read from a saved pipeline.
        training: Settings of ``Segmenter.train``, for ``nlp.initialize``.
    """
    return lambda nlp: AdaptagTokenizer(nlp.vocab, model=model, training=training)


class AdaptagTokenizer(CarriesModel, DummyTokenizer):  # type: ignore[misc,type-arg]
    """A tokenizer of a spaCy pipeline that cuts with a segmenter of adaptag.

    The text of a document is always the text that was given, white space included.

    Attributes:
        vocab: The vocabulary of the pipeline.
        training: The settings of training.
    """

    model_kind = "segmenter"

    def __init__(
        self, vocab: Vocab, *, model: str | None = None, training: dict[str, Any] | None = None
    ) -> None:
        """The segmenter is loaded when it is first used.

        Args:
            vocab: The vocabulary of the pipeline.
            model: The file of a segmenter; None until it is trained, or read from a saved pipeline.
            training: Settings of ``Segmenter.train``, for ``nlp.initialize``.
        """
        CarriesModel.__init__(self, model)
        self.vocab = vocab
        self.training = dict(training or {})

    @staticmethod
    def _model_class() -> Any:
        from adaptag.segmentation.segmenter import Segmenter

        return Segmenter

    def __call__(self, text: str) -> Doc:
        """Cut a text into words."""
        return self._doc(text, self.adaptag_model.cut(text))

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Cut a stream of texts, many in one call.

        Args:
            texts: The texts.
            batch_size: The number of texts that are cut together.
        """
        for batch in util.minibatch(texts, size=batch_size):
            listed = list(batch)
            for text, words in zip(listed, self.adaptag_model.cut_all(listed), strict=True):
                yield self._doc(text, words)

    def _doc(self, text: str, words: list[str]) -> Doc:
        starts = itertools.accumulate(map(len, words), initial=0)
        pieces, spaces = words_and_spaces(text, starts)
        return Doc(self.vocab, words=pieces, spaces=spaces)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,  # noqa: ARG002
        training: dict[str, Any] | None = None,
        pkuseg_model: str | None = None,  # noqa: ARG002
        pkuseg_user_dict: str | None = None,  # noqa: ARG002
    ) -> None:
        """Train on the words of gold documents; a segmenter that was given as a file is kept.

        Args:
            get_examples: Returns the examples.
            nlp: The pipeline.
            training: Settings of ``Segmenter.train``, beside those of the tokenizer.
            pkuseg_model: Not used; the configuration of Chinese has it for spaCy's own tokenizer.
            pkuseg_user_dict: Not used, likewise.
        """
        if self._path is not None:
            self.adaptag_model  # noqa: B018  # raises where there is no such file
            return
        validate_get_examples(get_examples, "AdaptagTokenizer.initialize")
        docs = [example.reference for example in get_examples()]
        sentences = [[token.text for token in doc if not token.is_space] for doc in docs]
        settings = {**self.training, **(training or {})}
        self.adaptag_model = self._model_class().train(
            [words for words in sentences if words], **settings
        )

    def score(self, examples: Iterable[Example]) -> dict[str, Any]:
        """Score the tokens as spaCy does."""
        validate_examples(examples, "AdaptagTokenizer.score")
        scores: dict[str, Any] = Scorer.score_tokenization(examples)
        return scores
