"""Every form of data that users have becomes a corpus here, by one set of rules.

Paths, open files, tables, corpora that were read, and Python data are accepted for every task. What
is of the wrong type is refused with what was found and what is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.corpus.documents import Documents
from adaptag.corpus.lists import as_list, is_iterable
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.corpus.tables import TAGS, is_table, sentences_and_labels
from adaptag.errors import CorpusError, ParameterError, counted, described
from adaptag.storage.encodings import TextFile
from adaptag.storage.files import COMPRESSED, is_source, shown
from adaptag.storage.tensors import kind_of

if TYPE_CHECKING:
    from adaptag.storage.files import Source

    Corpus = ColumnCorpus | AttributeCorpus

__all__ = [
    "CLASSIFICATION",
    "SEGMENTATION",
    "TAGGING",
    "corpus_of",
    "format_of",
    "is_text",
]

TAGGING = "tagging"
SEGMENTATION = "segmentation"
CLASSIFICATION = "classification"
COLUMNS = "columns"
ATTRIBUTES = "attributes"
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".ann": "brat",
    ".spacy": "docbin",
}
"""The formats that the ending of a file tells; a folder is one of BRAT."""
CORPORA: dict[str, tuple[type, ...]] = {
    TAGGING: (ColumnCorpus, AttributeCorpus),
    SEGMENTATION: (SegmentedCorpus,),
    CLASSIFICATION: (Documents,),
}
ALLOWED = {
    TAGGING: "a path, an open file, a table, or a list of sentences, each a list of tokens, or of "
    "texts with spans",
    SEGMENTATION: "a path, an open file, or a list of sentences, each a list of words",
    CLASSIFICATION: "a path, an open file, or a list of texts with their labels",
}


def corpus_of(
    data: Any,
    labels: Iterable[Any] | None = None,
    *,
    task: str = TAGGING,
    format: Any = None,  # noqa: A002
    labelled: bool = True,
    tokens: bool | None = None,
    tokenizer: Any = None,
    threads: int | None = None,
    keep_zeros: bool = False,
) -> Any:
    """Turn data into the corpus of a task.

    Args:
        data: A path, an open file, a corpus, a table (for tagging), or Python data: sentences of
            tokens, sentences of feature dictionaries, texts with spans (``TaggedText`` or
            dictionaries), sentences of words, or texts.
        labels: The labels of Python data, given separately: a list for each sentence, with None
            for a label that is not known; the words of each text; or the class of each text.
        task: ``tagging``, ``segmentation`` or ``classification``.
        format: How a file is written: a ``ColumnFormat``, ``columns``, ``attributes``, a format of
            labelled texts (``jsonl``, ``json``, ``doccano``, ``label-studio``, ``brat``), or a
            ``DocumentFormat``. Where it is None or a ``ColumnFormat``, the ending of a file may
            say that it has labelled texts.
        labelled: Whether the data must have labels, inside it or given separately.
        tokens: For tagging: whether positions are tokens (strings, or tuples of columns), or else
            features (dictionaries, or lists of attributes). None means that the first
            position decides.
        tokenizer: What cuts labelled texts into tokens, see ``tokenizer_of``.
        threads: The number of threads that read a file; None means one per core.
        keep_zeros: Whether features of value 0 are kept, which say nothing to most tasks.

    Returns:
        A ``ColumnCorpus`` or an ``AttributeCorpus``, a ``SegmentedCorpus``, or ``Documents``.
    """
    if isinstance(data, CORPORA[task]) or is_source(data):
        if labels is not None:
            raise ParameterError("labels can only be given with Python data or a table")
        return _read(data, task, format, tokenizer, threads) if is_source(data) else data
    if task == TAGGING and is_table(data):
        data, inside = sentences_and_labels(data)
        labels = inside if labels is None else labels
        if labels is None and labelled:
            raise ParameterError(f"the table has no column of labels: {', '.join(TAGS)}")
    items = as_list(data, "the data", ALLOWED[task])
    if not items and labelled:
        raise CorpusError("the data holds no sentence; allowed: 1 or more")
    if task == SEGMENTATION:
        return SegmentedCorpus.from_sentences(items if labels is None else _words(items, labels))
    if task == CLASSIFICATION:
        if labels is None and labelled:
            raise CorpusError("texts need their labels: one for each text")
        names = None if labels is None else as_list(labels, "labels")
        return Documents.from_texts(items, names, format)
    if labels is None and items and is_text(items[0]):
        from adaptag.corpus.span_files import records_of_data, span_corpus

        return span_corpus(records_of_data(items), "<data>", tokenizer)
    return _sentences(items, labels, labelled, tokens, keep_zeros)


def format_of(source: Source) -> str | None:
    """The format of a labelled file by its name; None where its name does not tell."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    name, suffix = os.path.splitext(source)  # noqa: PTH122
    if suffix in COMPRESSED:
        suffix = os.path.splitext(name)[1]  # noqa: PTH122
    return ENDINGS.get(suffix) or ("brat" if os.path.isdir(source) else None)  # noqa: PTH112


def _read(
    source: Source,
    task: str,
    format: Any,  # noqa: A002
    tokenizer: Any,
    threads: int | None,
) -> Any:
    name = format if isinstance(format, str) else None
    if task == TAGGING and name is None:
        name = format_of(source)
    kind = None if name == "brat" else kind_of(source)
    if kind is not None:
        raise CorpusError(f"{shown(source)}: holds an adaptag {kind}; expected a text file")
    if task == SEGMENTATION:
        return SegmentedCorpus.read(source)
    if task == CLASSIFICATION:
        return Documents.read(source, format)
    from adaptag.corpus.docbin import is_docbin, read_docbin

    if is_docbin(format) or is_docbin(name):
        if isinstance(source, TextFile):
            raise ParameterError(f"{shown(source)}: a DocBin is no text, so it has no encoding")
        return read_docbin(source, format)
    if name == ATTRIBUTES:
        return AttributeCorpus.read(source)
    if name is not None and name != COLUMNS:
        from adaptag.corpus.annotation_files import read_records
        from adaptag.corpus.span_files import span_corpus

        return span_corpus(read_records(source, name), shown(source), tokenizer)
    column_format = format if isinstance(format, ColumnFormat) else None
    return ColumnCorpus.read(source, column_format, threads=threads)


def is_text(item: Any) -> bool:
    """Whether an item is a text with spans, or a dictionary with tokens and tags."""
    if isinstance(item, Mapping):
        return "text" in item or "tokens" in item
    from adaptag.corpus.spans import TaggedText

    return isinstance(item, TaggedText)


def _sentences(
    sentences: list[Any],
    labels: Iterable[Any] | None,
    labelled: bool,
    tokens: bool | None,
    keep_zeros: bool,
) -> Corpus:
    """Make a corpus of sentences of tokens, or of features."""
    first: Any = None
    for number, sentence in enumerate(sentences, 1):
        if isinstance(sentence, (str, bytes, Mapping)) or not is_iterable(sentence):
            raise CorpusError(
                f"sentence {number} is {described(sentence)}; allowed: a list of tokens, such as "
                "['the', 'cat'], or of feature dictionaries"
            )
        if isinstance(sentence, Iterator):
            sentence = sentences[number - 1] = list(sentence)
        if first is None:
            first = next(iter(sentence), None)
            tokens = _are_tokens(first, number, tokens)
    if tokens is not False:
        corpus: Corpus = ColumnCorpus.from_sentences(sentences)
    else:
        corpus = AttributeCorpus.from_items(sentences, keep_zeros=keep_zeros)
        if labels is None and labelled:
            raise CorpusError("sentences of features need their labels: a list for each sentence")
    if labelled and corpus.n_tokens == 0:
        raise CorpusError("the data holds no token; allowed: 1 or more")
    return corpus if labels is None else corpus.with_labels(as_list(labels, "labels"))


def _are_tokens(first: Any, number: int, tokens: bool | None) -> bool | None:
    """Whether positions are tokens, by the first of them and by what is expected."""
    features = isinstance(first, (Mapping, set, frozenset))
    if first is None:
        return tokens
    if tokens is not False and isinstance(first, (tuple, list)) and not first:
        raise CorpusError(
            f"sentence {number}: the first token has no columns; allowed: a string, or a tuple of "
            "strings, one per column"
        )
    if tokens is None:
        if not features and not isinstance(first, (str, Sequence)):
            raise CorpusError(
                f"sentence {number}: the token is {described(first)}; allowed: a string, a tuple "
                "of strings (columns), or a dictionary of features"
            )
        return not features
    if tokens and features:
        raise CorpusError(
            f"sentence {number}: a position is {described(first)}; with a template each position "
            "is a token: a string, or a tuple of columns"
        )
    if not tokens and isinstance(first, str):
        raise CorpusError(
            f"sentence {number}: the token {first!r}; tokens need a template, as in "
            "template='general'; allowed without one: dictionaries and lists of attributes"
        )
    return tokens


def _words(texts: list[Any], words: Iterable[Any]) -> list[list[str]]:
    """Check that the words of each text give the text, and return them."""
    allowed = "a list of the words of each text"
    sentences = [as_list(item, "the words of a text") for item in as_list(words, "words", allowed)]
    if len(texts) != len(sentences):
        raise CorpusError(
            f"the words of {counted(len(sentences), 'text')} for {counted(len(texts), 'text')}"
        )
    for number, (text, sentence) in enumerate(zip(texts, sentences, strict=True), 1):
        if not isinstance(text, str):
            raise CorpusError(f"text {number} is {described(text)}; allowed: a string")
        for word in sentence:
            if not isinstance(word, str):
                raise CorpusError(f"text {number}: a word is {described(word)}; allowed: a string")
        if "".join("".join(sentence).split()) != "".join(text.split()):
            raise CorpusError(f"text {number}: its words do not give the text: {text[:20]!r}")
    return sentences
