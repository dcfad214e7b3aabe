"""The whole data flow in one call: text or Python data in, a trained model or a score out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.data import corpus_of
from adaptag.corpus.label_files import convert_sequences
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.decoding.tagging_job import tagging_job
from adaptag.errors import CorpusError, ParameterError
from adaptag.evaluation import Evaluation, evaluate_ids, evaluate_sequences
from adaptag.features.settings import FeatureSettings
from adaptag.settings import AUTO, split_options, with_options
from adaptag.storage.tensors import kind_of
from adaptag.training.checkpoint import check_checkpoint, continued
from adaptag.training.settings import TaggingSettings, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.corpus.data import Corpus
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
    format: Format = None,  # noqa: A002
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
            each row.
        labels: The labels of sentences given as Python data, one list per sentence; None stands for
            a label that is not known.
        dev: Development data, like ``data`` with labels inside: it is scored after every pass, the
            best pass is kept, and training stops after ``patience`` passes without improvement.
        start: A model to start from: its features and labels stay, those that are new in the data
            are added, and its weights are trained further.
        resume: A checkpoint to continue from, with its algorithm, parameters and seed, on the same
            data: 5 passes and 5 more give the same bits as 10. ``passes`` are those to add; a pass
            that was interrupted counts as one. Training that had a ``start`` needs it again.
        checkpoint: A file for the state of training at the end, for ``resume``.
        format: The format of a column file, if it cannot be detected; ``attributes`` for a
            CRFsuite file; or ``docbin`` or a ``DocBinFormat`` for documents of spaCy, as which
            files that end in ``.spacy`` are read anyway.
        callbacks: Objects that are notified of the progress and can stop training.
        **options: The settings of features (``template``, ``cutoff``, …) and of training
            (``algorithm``, ``passes``, ``seed``, …), and the parameters of the algorithm (``rate``,
            ``sigma``, …). See [the settings](guide/settings.md).

    Returns:
        The model. Ctrl-C ends training early and keeps what was reached.

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
    state = None
    if resume is not None:
        state, settings = continued(resume, settings, {**training, **parameters})
    elif checkpoint is not None:
        check_checkpoint(settings)
    origin = start if start is None or isinstance(start, Model) else Model.load(start)
    dataset = _encode(data, labels, FeatureSettings(**features), origin, format, settings.threads)
    job = tagging_job(dataset, settings, dev=dev, start=origin, format=format, callbacks=callbacks)
    job.resume = state
    model = job.run()
    if checkpoint is not None and job.result.checkpoint is not None:
        job.result.checkpoint.save(checkpoint)
    return model


@with_options(FeatureSettings)
def encode(
    data: Any,
    labels: Labels | None = None,
    *,
    start: Model | None = None,
    format: Format = None,  # noqa: A002
    threads: int | None = None,
    **options: Any,
) -> Dataset:
    """Encode training data once, to save it and train on it several times.

    Args:
        data: The training data, as for ``train``.
        labels: The labels of Python data, as for ``train``.
        start: A model whose features and labels come first.
        format: As for ``train``.
        threads: The number of threads, which does not change the result; None means one per core.
        **options: The settings of features.
    """
    features, _ = split_options(options, FeatureSettings)
    return _encode(data, labels, FeatureSettings(**features), start, format, threads)


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
        if labels is not None or settings.given():
            raise ParameterError("an encoded dataset has its labels and features already")
        if start is not None and not data.extends(start.index, start.labels):
            raise ParameterError("the dataset was encoded without the model to start from")
        return data
    if start is not None:
        if {"template", "rich_edges", "hash_bits"} & settings.given().keys():
            raise ParameterError("the model to start from has its template and features already")
        tokens = None if not start.index.template.attributes else False
        corpus = corpus_of(data, labels, format=format, tokens=tokens, threads=threads)
        return Dataset.grow(corpus, start.index, start.labels, settings, threads)
    corpus = corpus_of(data, labels, format=format, threads=threads)
    return Dataset.build(corpus, settings, threads)


def read(path: Source, format: Format = None) -> Corpus:  # noqa: A002
    """Read a corpus: a column file, a CRFsuite file (``attributes``), or a ``.spacy`` file."""
    corpus: Corpus = corpus_of(path, format=format)
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


def evaluate(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, metric: str = AUTO
) -> Evaluation:
    """Score predicted label sequences: chunks as conlleval does, or tokens where there are none.

    Args:
        gold: The gold labels of each sentence.
        predicted: The predicted labels of each sentence.
        metric: ``F1`` scores chunks, ``accuracy`` tokens, ``auto`` what most labels mark.

    Examples:
        >>> import adaptag
        >>> result = adaptag.evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
        >>> result.chunks.f1
        100.0
    """
    return evaluate_sequences(gold, predicted, metric=metric)


def evaluate_file(
    path: Source,
    format: ColumnFormat | None = None,  # noqa: A002
    *,
    metric: str = AUTO,
) -> Evaluation:
    """Score a tagged column file: the last two columns are gold and predicted labels."""
    corpus = ColumnCorpus.read(path, format)
    if corpus.n_columns < 2:
        raise CorpusError(
            f"{path}:{corpus.lines[0]}: 1 column; the last two must be gold and predicted labels"
        )
    gold, names = corpus.number_labels(column=-2)
    predicted, names = corpus.number_labels(names)
    return evaluate_ids(gold, predicted, corpus.sentences, names, metric=metric)
