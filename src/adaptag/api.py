"""The whole data flow in one call: text or Python data in, a trained model or a score out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.corpus.data import corpus_of, format_of, is_text
from adaptag.corpus.label_files import convert_sequences
from adaptag.corpus.lists import as_list
from adaptag.corpus.span_files import LabelledTokens, records_of_data
from adaptag.corpus.tokenizers import DEFAULT, tokenizer_name, tokenizer_of
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import CorpusError, ParameterError, described
from adaptag.evaluation import Evaluation, evaluate_ids, evaluate_sequences, evaluate_spans
from adaptag.features.settings import FeatureSettings
from adaptag.settings import AUTO, split_options, with_options
from adaptag.storage.encodings import with_encoding
from adaptag.storage.files import is_source
from adaptag.storage.tensors import kind_of
from adaptag.training.callbacks import check_callbacks
from adaptag.training.saving import Saving
from adaptag.training.settings import TaggingSettings, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adaptag.corpus.data import Corpus
    from adaptag.corpus.span_files import Record
    from adaptag.corpus.spans import TaggedText
    from adaptag.storage.files import PathLike, Source
    from adaptag.training.callbacks import Callback

    Format = ColumnFormat | str | None
    Labels = Iterable[Sequence[str | None]]

__all__ = ["convert_labels", "encode", "evaluate", "evaluate_file", "read", "train"]


@with_options(FeatureSettings, TaggingSettings, parameters=True)
def train(
    data: Any,
    labels: Labels | None = None,
    *,
    dev: Any = None,
    start: Model | PathLike | None = None,
    resume: PathLike | None = None,
    checkpoint: PathLike | None = None,
    every: int | str | None = None,
    format: Format = None,  # noqa: A002
    encoding: str | None = None,
    callbacks: Sequence[Callback] = (),
    **options: Any,
) -> Model:
    """Train a model.

    Args:
        data: The training data: a column file (the label in the last column), an open file, a saved
            dataset, a corpus that was read, a dataset that was encoded, sentences of tokens, the
            label last in each token unless ``labels`` are given, sentences of feature dictionaries
            with ``labels``, or a table: a data frame of pandas or polars, a ``datasets.Dataset``,
            with a list in the column ``tokens`` and one in ``tags``, ``ner_tags`` or ``labels`` of
            each row; or [texts with spans](guide/raw-text.md), as JSON lines, exports of
            annotation tools, ``TaggedText`` or dictionaries.
        labels: The labels of sentences given as Python data, one list per sentence; None stands for
            a label that is not known.
        dev: Development data, like ``data`` with labels inside: it is scored after every pass, the
            best pass is kept, and training stops after ``patience`` passes without improvement.
        start: A model to start from: its features and labels stay, those that are new in the data
            are added, and its weights are trained further.
        resume: A checkpoint to continue from, with its algorithm, parameters and seed, on the same
            data: the result has the same bits as that of a run without interruption. ``passes``
            are those of the whole run. Training that had a ``start`` needs it again. The file need
            not exist yet if ``checkpoint`` is the same one.
        checkpoint: A file for the state of training, for ``resume``. It is replaced while training
            goes on, and at its end.
        every: How often: a number of passes, or a time such as ``"30s"``, ``"5m"`` or ``"2h"``. By
            default once a minute.
        format: The format of a column file, if it cannot be detected; ``attributes`` for a
            CRFsuite file; ``jsonl``, ``json``, ``doccano``, ``label-studio`` or ``brat`` for
            labelled texts; ``docbin`` or a ``DocBinFormat`` for documents of spaCy. It is refused
            where neither ``data`` nor ``dev`` is a file.
        encoding: The encoding of the text files ``data`` and ``dev``, such as ``latin-1`` or
            ``gbk``. By default UTF-8. It is refused where neither is a file.
        callbacks: Objects that are notified of the progress and can stop training.
        **options: The settings of features (``template``, ``cutoff``, …) and of training
            (``algorithm``, ``passes``, ``seed``, …), and the parameters of the algorithm (``rate``,
            ``sigma``, …). See [the settings](guide/settings.md).

    Returns:
        The model. Ctrl-C ends training early and keeps what was reached; so does divergence, with
        a ``DivergenceWarning``.

    Examples:
        >>> import adaptag
        >>> sentences = [["2", "cups", "flour"], ["1", "cup", "sugar"]]
        >>> labels = [["QTY", "UNIT", "NAME"], ["QTY", "UNIT", "NAME"]]
        >>> model = adaptag.train(sentences, labels)
        >>> model.tag(["3", "cups", "sugar"])
        ['QTY', 'UNIT', 'NAME']
    """
    features, training, parameters = split_options(
        options, FeatureSettings, TaggingSettings, also=parameter_names()
    )
    settings = TaggingSettings.from_options(training, parameters)
    check_callbacks(callbacks)
    _check_for_files(format, encoding, data, dev)
    saving = Saving.of(checkpoint, every, resume)
    settings = saving.continued(settings, training)
    origin = start if start is None or isinstance(start, Model) else Model.load(start)
    source = with_encoding(data, encoding)
    dataset = _encode(source, labels, FeatureSettings(**features), origin, format, settings.threads)
    job = tagging_job(
        dataset,
        settings,
        dev=with_encoding(dev, encoding),
        start=origin,
        format=format,
        tokenizer=features.get("tokenizer"),
        callbacks=callbacks,
    )
    saving.attach(job)
    return job.run()


@with_options(FeatureSettings)
def encode(
    data: Any,
    labels: Labels | None = None,
    *,
    start: Model | None = None,
    format: Format = None,  # noqa: A002
    encoding: str | None = None,
    threads: int | None = None,
    **options: Any,
) -> Dataset:
    """Encode training data once, to save it and train on it several times.

    Args:
        data: The training data, as for ``train``.
        labels: The labels of Python data, as for ``train``.
        start: A model whose features and labels come first.
        format: As for ``train``.
        encoding: As for ``train``.
        threads: The number of threads, which does not change the result; None means one per core.
        **options: The settings of features.
    """
    features, _ = split_options(options, FeatureSettings)
    _check_for_files(format, encoding, data)
    source = with_encoding(data, encoding)
    return _encode(source, labels, FeatureSettings(**features), start, format, threads)


def _check_for_files(format: Format, encoding: str | None, *data: Any) -> None:  # noqa: A002
    """Raise where a format or an encoding is given, and no data is a file."""
    for name, value in (("format", format), ("encoding", encoding)):
        if value is not None and not any(map(is_source, data)):
            raise ParameterError(
                f"{name} is {described(value)}, but the data is in no file; allowed: None"
            )


def _encode(
    data: Any,
    labels: Labels | None,
    settings: FeatureSettings,
    start: Model | None,
    format: Format,  # noqa: A002
    threads: int | None,
) -> Dataset:
    settings.check()
    if isinstance(data, (str, os.PathLike)) and kind_of(data) == "dataset":
        data = Dataset.load(data)
    if isinstance(data, Dataset):
        if labels is not None or settings.given().keys() - {"tokenizer"}:
            raise ParameterError("an encoded dataset has its labels and features already")
        if start is not None and not data.extends(start.index, start.labels):
            raise ParameterError("the dataset was encoded without the model to start from")
        _check_same_tokenizer(settings.tokenizer, data)
        return data
    tokenizer = settings.tokenizer
    if tokenizer is not None:
        tokenizer_of(tokenizer)
    if start is not None:
        if {"template", "rich_edges", "hash_bits"} & settings.given().keys():
            raise ParameterError("the model to start from has its template and features already")
        tokens = None if not start.index.template.attributes else False
        corpus = corpus_of(
            data,
            labels,
            format=format,
            tokens=tokens,
            tokenizer=tokenizer or start.tokenizer,
            threads=threads,
        )
        return Dataset.grow(corpus, start.index, start.labels, settings, threads)
    corpus = corpus_of(data, labels, format=format, tokenizer=tokenizer, threads=threads)
    return Dataset.build(corpus, settings, threads)


def _check_same_tokenizer(tokenizer: Any, dataset: Dataset) -> None:
    """Raise where a dataset was encoded with another tokenizer than the one given."""
    given, own = tokenizer_name(tokenizer), dataset.features.get("tokenizer") or DEFAULT
    if given is not None and given != own:
        raise ParameterError(f"the dataset was encoded with the tokenizer {own}, not {given}")


def read(
    path: Source,
    format: Format = None,  # noqa: A002
    *,
    encoding: str | None = None,
    tokenizer: Any = None,
) -> Corpus:
    """Read a corpus: a column file, labelled texts, documents of spaCy, or a CRFsuite file.

    Args:
        path: The file.
        format: As for ``train``.
        encoding: As for ``train``.
        tokenizer: What cuts labelled texts into tokens, as for ``train``.
    """
    _check_for_files(format, encoding, path)
    corpus: Corpus = corpus_of(with_encoding(path, encoding), format=format, tokenizer=tokenizer)
    return corpus


def convert_labels(
    labels: Sequence[Sequence[str]], to: str, *, source: str = AUTO
) -> list[list[str]]:
    """Write the labels of sentences in another scheme: the same chunks, other labels.

    Args:
        labels: The labels of each sentence.
        to: The scheme: ``iob1``, ``iob2``, ``ioe2`` or ``bioes``.
        source: The scheme that the labels must follow; ``auto`` reads any labels as conlleval does.

    Examples:
        >>> import adaptag
        >>> adaptag.convert_labels([["B-NP", "I-NP", "B-NP", "O"]], "bioes")
        [['B-NP', 'E-NP', 'S-NP', 'O']]
    """
    return convert_sequences(labels, to, source)


def evaluate(gold: Iterable[Any], predicted: Iterable[Any], *, metric: str = AUTO) -> Evaluation:
    """Score predicted label sequences: chunks as conlleval does, or tokens where there are none.

    Texts with spans are scored by their spans: right are those with the same start, end and label.

    Args:
        gold: The gold labels of each sentence; or texts with spans, each a ``TaggedText`` or a
            dictionary.
        predicted: The predicted labels of each sentence, or the same texts with predicted spans.
        metric: ``F1`` scores chunks, ``accuracy`` tokens, ``auto`` what most labels mark.

    Examples:
        >>> import adaptag
        >>> result = adaptag.evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
        >>> result.chunks.f1
        100.0
    """
    allowed = "a list of sentences, each a list of labels, or of texts with spans"
    gold, predicted = as_list(gold, "gold", allowed), as_list(predicted, "predicted", allowed)
    if gold and is_text(gold[0]):
        return evaluate_spans(*(_tagged(records_of_data(texts)) for texts in (gold, predicted)))
    return evaluate_sequences(gold, predicted, metric=metric)


def evaluate_file(
    path: Source,
    format: Format = None,  # noqa: A002
    *,
    metric: str = AUTO,
    predicted: Source | None = None,
    encoding: str | None = None,
) -> Evaluation:
    """Score a tagged column file: the last two columns are gold and predicted labels.

    Args:
        path: The file; with ``predicted``, a file of texts with the right spans.
        format: The format of the files, as for ``train``.
        metric: As for ``evaluate``.
        predicted: A file of the same texts with the predicted spans.
        encoding: The encoding of the files, as for ``train``.
    """
    path, predicted = with_encoding(path, encoding), with_encoding(predicted, encoding)
    if predicted is not None:
        texts = (_texts_of(source, format) for source in (path, predicted))
        return evaluate_spans(*texts)
    columns = format if isinstance(format, ColumnFormat) else None
    corpus = ColumnCorpus.read(path, columns)
    if corpus.n_columns < 2:
        raise CorpusError(
            f"{path}:{corpus.lines[0]}: 1 column; the last two must be gold and predicted labels"
        )
    gold, names = corpus.number_labels(column=-2)
    found, names = corpus.number_labels(names)
    return evaluate_ids(gold, found, corpus.sentences, names, metric=metric)


def _texts_of(source: Source, format: Format) -> list[TaggedText]:  # noqa: A002
    """The texts of a file, with their spans."""
    from adaptag.corpus.annotation_files import read_records

    name = format if isinstance(format, str) else format_of(source)
    return _tagged(read_records(source, name or "jsonl"))


def _tagged(records: Iterable[Record]) -> list[TaggedText]:
    """The texts of records; those that are cut into tokens have no places."""
    texts = []
    for record in records:
        if isinstance(record, LabelledTokens):
            raise CorpusError("tokens with tags; spans are scored where all data is text")
        texts.append(record.tagged())
    return texts
