"""The whole data flow in one call: text or Python data in, a trained model or a score out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus
from adaptag.corpus.tables import TAGS, is_table, sentences_and_labels
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model
from adaptag.errors import CorpusError, ParameterError, unknown
from adaptag.evaluation import Evaluation, evaluate_ids, evaluate_sequences
from adaptag.features.index import NO_LIMIT, EdgeLimit, check_cutoff
from adaptag.features.template import Template
from adaptag.model.remapping import remap_weights
from adaptag.storage.tensors import kind_of
from adaptag.training.algorithms import algorithm as find_algorithm
from adaptag.training.callbacks import Callback, Converged, EarlyStopping
from adaptag.training.checkpoint import Checkpoint
from adaptag.training.loop import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.corpus.tables import Table
    from adaptag.features.index import Corpus
    from adaptag.storage.files import PathLike

    Token = str | Sequence[str]
    Data = PathLike | Corpus | Dataset | Table | Iterable[Iterable[Token]]
    Format = ColumnFormat | str | None

__all__ = [
    "corpus_of",
    "encode",
    "encode_like",
    "evaluate",
    "evaluate_file",
    "evaluate_model",
    "read",
    "train",
]

GENERAL = "general"
FORMATS = ("columns", "attributes")


def train(
    data: Data,
    labels: Iterable[Sequence[str]] | None = None,
    *,
    template: str | PathLike | Template | None = None,
    dev: Data | None = None,
    algorithm: str | None = None,
    passes: int | None = None,
    seed: int | None = None,
    cutoff: int = 1,
    rich_edges: bool = False,
    edge_cutoff: int = 1,
    edge_share: float = 1.0,
    hash_bits: int | None = None,
    converge: bool = False,
    patience: int = 5,
    start: Model | PathLike | None = None,
    resume: PathLike | None = None,
    checkpoint: PathLike | None = None,
    format: Format = None,  # noqa: A002
    callbacks: Sequence[Callback] = (),
    **parameters: float | str,
) -> Model:
    """Train a model.

    Args:
        data: the training data: a column file (the label in the last column), a saved dataset, a
            corpus that was read, a dataset that was encoded, sentences of tokens, the label last
            in each token unless ``labels`` are given, or a table: a data frame of pandas or polars,
            a ``datasets.Dataset``, with a list in the column ``tokens`` and one in ``tags``,
            ``ner_tags`` or ``labels`` of each row.
        labels: the labels of sentences given as Python data, one list a sentence.
        template: a preset's name, a file, the text of a template, or a ``Template``; the
            preset ``general`` unless given.
        dev: development data, like ``data`` with labels inside: it is scored after every pass, the
            best pass is kept, and training stops when the score has not risen for ``patience``
            passes.
        algorithm: ``adf``, the default, or another of ``adaptag.algorithms()``.
        passes: passes over the data at most; the algorithm's own number unless given.
        seed: of the order of sentences, 1 unless given; the same seed gives the same model, bit for
            bit.
        cutoff: features that occur less often are left out.
        rich_edges: give all lines of the template, or all attributes, edge weights too, as ``*``
            lines have them: a weight for every pair of labels.
        edge_cutoff: features that occur less often get no edge weights beside their node weights.
        edge_share: of the features that may have both, the share that gets edge weights: the most
            frequent ones.
        hash_bits: number features by hashes of so many bits: a model of fixed size, in which
            features have no names, and different ones may share their weights.
        converge: stop at the empirical convergence of Sun et al. (2014): five adjacent passes whose
            scores differ by less than 0.01.
        patience: see ``dev``.
        start: a model to start from: its features and labels stay, those that are new in the data
            are added, and its weights are trained on.
        resume: a checkpoint to go on from, with its algorithm, parameters and seed, on the same
            data: 5 passes and 5 more give the same bits as 10. ``passes`` are those to add; a pass
            that was interrupted counts as one. Training that had a ``start`` needs it again.
        checkpoint: a file to keep the state of training in at the end, for ``resume``.
        format: how a column file is written, where its form is not found by itself; or
            ``attributes`` for a file of CRFsuite's.
        callbacks: watch training, and stop it.
        **parameters: the algorithm's own parameters, such as ``rate`` and ``sigma``.

    Returns:
        The model. Ctrl-C ends training early and keeps what was reached.

    Example:
        >>> import adaptag
        >>> sentences = [["2", "cups", "flour"], ["1", "cup", "sugar"]]
        >>> labels = [["QTY", "UNIT", "NAME"], ["QTY", "UNIT", "NAME"]]
        >>> model = adaptag.train(sentences, labels)
        >>> model.tag(["3", "cups", "sugar"])
        ['QTY', 'UNIT', 'NAME']
    """
    state = None if resume is None else Checkpoint.load(resume)
    if state and (algorithm or seed is not None or parameters):
        raise ParameterError("a checkpoint has its algorithm, parameters and seed already")
    chosen = state.algorithm if state else algorithm or "adf"
    if checkpoint is not None and not find_algorithm(chosen).online:
        raise ParameterError(f"{chosen} keeps no state for a checkpoint; start from its model")
    origin = start if start is None or isinstance(start, Model) else Model.load(start)
    dataset = encode(
        data,
        labels,
        template=template,
        cutoff=cutoff,
        rich_edges=rich_edges,
        edge_cutoff=edge_cutoff,
        edge_share=edge_share,
        hash_bits=hash_bits,
        start=origin,
        format=format,
    )
    dev_set = None if dev is None else encode_like(dev, dataset, format)
    rules: list[Callback] = [Converged()] if converge else []
    if dev_set is not None:
        rules.append(EarlyStopping(patience))

    def model(weights: NDArray[np.float32], provenance: dict[str, Any]) -> Model:
        return Model(dataset.label_names, dataset.index, weights, provenance)

    def score(weights: NDArray[np.float32]) -> float:
        assert dev_set is not None
        return evaluate_model(model(weights, {}), dev_set).score

    result = fit(
        dataset,
        algorithm_name=chosen,
        parameters=parameters,
        passes=passes,
        seed=1 if seed is None else seed,
        start=None
        if origin is None
        else remap_weights(origin.weights, origin.layout, dataset.layout),
        resume=state,
        score=score if dev_set is not None else None,
        callbacks=[*callbacks, *rules],
    )
    if checkpoint is not None and result.checkpoint is not None:
        result.checkpoint.save(checkpoint)
    provenance: dict[str, Any] = {
        "sentences": len(dataset),
        "tokens": dataset.n_tokens,
        "cutoff": dataset.cutoff,
        **result.provenance(),
    }
    if origin is not None:
        provenance["start"] = dict(origin.provenance)
    return model(result.weights, provenance)


def encode(
    data: Data,
    labels: Iterable[Sequence[str]] | None = None,
    *,
    template: str | PathLike | Template | None = None,
    cutoff: int = 1,
    rich_edges: bool = False,
    edge_cutoff: int = 1,
    edge_share: float = 1.0,
    hash_bits: int | None = None,
    start: Model | None = None,
    format: Format = None,  # noqa: A002
) -> Dataset:
    """Encode training data, so that it can be saved and trained on again and again.

    The arguments are those of ``train``.
    """
    if isinstance(data, (str, os.PathLike)) and kind_of(data) == "dataset":
        data = Dataset.load(data)
    edges = EdgeLimit(edge_cutoff, edge_share)
    if isinstance(data, Dataset):
        if template is not None or labels is not None or cutoff != 1:
            raise ParameterError("an encoded dataset has its template, labels and cutoff already")
        if rich_edges or edges != NO_LIMIT or hash_bits is not None:
            raise ParameterError("an encoded dataset has its features already, edges included")
        if start is not None and not data.extends(start.index, start.labels):
            raise ParameterError("the dataset was encoded without the model to start from")
        return data
    check_cutoff("cutoff", cutoff)
    corpus = corpus_of(data if labels is None else _join(data, labels), format)
    if start is not None:
        if template is not None or rich_edges or hash_bits is not None:
            raise ParameterError(
                "the model to start from has its template already, and its features"
            )
        return Dataset.grow(corpus, start.index, start.labels, cutoff, edges)
    if isinstance(corpus, AttributeCorpus):
        chosen = Template.for_attributes()
        if template is not None:
            raise ParameterError("attributes are features already: a template has no place")
    else:
        chosen = Template.load(GENERAL if template is None else template, corpus.n_columns - 1)
    if hash_bits is not None and (cutoff != 1 or edges != NO_LIMIT):
        raise ParameterError("hashed features are not counted: cutoffs and shares have no place")
    chosen = chosen.rich() if rich_edges else chosen
    return Dataset.build(corpus, chosen, cutoff, edges, hash_bits)


def read(path: PathLike, format: Format = None) -> Corpus:  # noqa: A002
    """Read a corpus: a column file, or with ``format="attributes"`` one of CRFsuite's."""
    if isinstance(format, str) and format not in FORMATS:
        raise ParameterError(unknown("format", format, FORMATS))
    kind = kind_of(path)
    if kind is not None:
        raise CorpusError(f"{path}: holds an adaptag {kind}; expected a text file of sentences")
    if format == "attributes":
        return AttributeCorpus.read(path)
    return ColumnCorpus.read(path, None if isinstance(format, str) else format)


def evaluate(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Evaluation:
    """Score predicted label sequences: chunks as conlleval does, or tokens where there are none.

    Example:
        >>> import adaptag
        >>> result = adaptag.evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "O"]])
        >>> result.chunks.f1
        100.0
    """
    return evaluate_sequences(gold, predicted)


def evaluate_file(path: PathLike, format: ColumnFormat | None = None) -> Evaluation:  # noqa: A002
    """Score a tagged column file: the last two columns are gold and predicted labels."""
    corpus = ColumnCorpus.read(path, format)
    if corpus.n_columns < 2:
        raise CorpusError(
            f"{path}:{corpus.lines[0]}: 1 column; the last two must be gold and predicted labels"
        )
    gold, names = corpus.number_labels(column=-2)
    predicted, names = corpus.number_labels(names)
    return evaluate_ids(gold, predicted, corpus.sentences, names)


def evaluate_model(
    model: Model,
    data: Data,
    *,
    legal: str | None = None,
    format: Format = None,  # noqa: A002
) -> Evaluation:
    """Tag labelled data with a model and score it."""
    dataset = data if isinstance(data, Dataset) else encode_like(data, model, format)
    predicted = model.tag_encoded(dataset.encoded, legal)
    return evaluate_ids(dataset.labels, predicted, dataset.encoded.sentences, dataset.label_names)


def encode_like(data: Data, like: Dataset | Model, format: Format) -> Dataset:  # noqa: A002
    """Encode labelled data with the index of a dataset or model."""
    if isinstance(data, Dataset):
        raise ParameterError("development data must be text or sentences, not an encoded dataset")
    corpus = corpus_of(data, "attributes" if like.index.template.attributes else format)
    names = like.label_names if isinstance(like, Dataset) else like.labels
    return Dataset.encode(corpus, like.index, names)


def corpus_of(data: Data, format: Format = None) -> Corpus:  # noqa: A002
    """Read a file, or take labelled Python data, as a corpus; an encoded dataset is none."""
    if isinstance(data, (ColumnCorpus, AttributeCorpus)):
        return data
    if isinstance(data, (str, os.PathLike)):
        return read(data, format)
    if is_table(data):
        sentences, labels = sentences_and_labels(data)
        if labels is None:
            raise ParameterError(f"the table has no column of labels: {', '.join(TAGS)}")
        data = _join(sentences, labels)
    corpus = ColumnCorpus.from_sentences(cast("Iterable[Iterable[Token]]", data))
    if corpus.n_tokens == 0:
        raise ParameterError("the data holds no sentence")
    return corpus


def _join(data: Data, labels: Iterable[Sequence[str]]) -> list[list[tuple[str, ...]]]:
    """Put each label behind its token's columns."""
    if isinstance(data, (str, os.PathLike, ColumnCorpus, AttributeCorpus, Dataset)):
        raise ParameterError("labels go with sentences given as Python data, or with a table")
    given = sentences_and_labels(data)[0] if is_table(data) else data
    joined = []
    sentences, label_lists = list(cast("Iterable[Iterable[Token]]", given)), list(labels)
    if len(sentences) != len(label_lists):
        raise ParameterError(f"{len(label_lists)} label sequences for {len(sentences)} sentences")
    for number, (sentence, names) in enumerate(zip(sentences, label_lists, strict=True), 1):
        tokens = list(sentence)
        if len(tokens) != len(names):
            raise ParameterError(f"sentence {number}: {len(names)} labels for {len(tokens)} tokens")
        joined.append(
            [
                (token, name) if isinstance(token, str) else (*token, name)
                for token, name in zip(tokens, names, strict=True)
            ]
        )
    return joined
