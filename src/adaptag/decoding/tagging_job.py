"""The job that trains a tagger: its labels, in the scheme to train with, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.data import corpus_of
from adaptag.corpus.labels import NO_LABEL
from adaptag.corpus.schemes import TrainingLabels, followed_scheme
from adaptag.corpus.settings import AS_IS
from adaptag.corpus.transitions import converted_transitions, legal_transitions
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.model import Model, TagScorer
from adaptag.decoding.output import SchemeOutput
from adaptag.errors import ParameterError
from adaptag.evaluation import metric_of
from adaptag.model.remapping import remap_weights
from adaptag.settings import AUTO
from adaptag.training.job import TrainingJob
from adaptag.training.settings import MOST_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.training.callbacks import Callback
    from adaptag.training.settings import TaggingSettings

    Format = ColumnFormat | str | None

__all__ = ["grown_transitions", "tagging_job"]

BEST = "bioes"  # the scheme that is tried beside that of the data
HELD_OUT = 5  # the scheme is chosen on the last fifth of the sentences
PASSES = 3  # of the trainings that choose it
DEFAULT = "adf"  # the algorithm that chooses it, where the one to train with has no passes to stop


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of training data as they are trained, and the model's labels.

    Attributes:
        ids: The number of every token's label, ``[T]``.
        states: The labels that are trained.
        legal: The transitions that are possible; None means that all are.
        labels: The labels that the model gives.
        section: What the model needs to know of its labels.
    """

    ids: NDArray[np.int32]
    states: tuple[str, ...]
    legal: NDArray[np.uint8] | None
    labels: tuple[str, ...]
    section: dict[str, Any]


def tagging_job(
    dataset: Dataset,
    settings: TaggingSettings,
    *,
    dev: Any = None,
    start: Model | None = None,
    format: Format = None,  # noqa: A002
    callbacks: Sequence[Callback] = (),
) -> TrainingJob[Model]:
    """The job that trains a tagger on an encoded dataset; the arguments are those of ``train``."""
    record: dict[str, Any] = {
        "sentences": len(dataset),
        "tokens": dataset.n_tokens,
        "feature_settings": dict(dataset.features),
    }
    if settings.scheme is None:
        settings = replace(settings, scheme=_default_scheme(dataset, settings, start))
    elif settings.scheme == AUTO:
        scheme = AS_IS
        if start is None:
            scheme, scores = _choose_scheme(dataset, settings, callbacks)
            record |= {"scheme_scores": scores} if scores else {}
        settings = replace(settings, scheme=scheme)
    labels = _labels(dataset, settings, start)
    metric = metric_of(settings.metric, dataset.label_names)

    def build(weights: Any, record: dict[str, Any]) -> Model:
        configuration: dict[str, Any] = {"labels": {**labels.section, "metric": metric}}
        if record:  # else the model is only scored
            configuration["training"] = {
                "algorithm": record["algorithm"],
                "parameters": record["parameters"],
            }
        return Model(
            labels.labels,
            dataset.index,
            weights,
            record,
            configuration=configuration,
            states=labels.states,
            legal=labels.legal,
        )

    examples = replace(dataset, labels=labels.ids, label_names=labels.states, legal=labels.legal)
    weights = None
    if start is not None:
        record["start"] = dict(start.provenance)
        weights = remap_weights(start.weights, start.layout, examples.layout)
    scorer = None
    if dev is not None:
        scorer = TagScorer(_encode_dev(dev, dataset, labels.labels, format), metric)
    return TrainingJob(
        examples, settings, build, scorer, weights, callbacks=callbacks, record=record
    )


def _labels(dataset: Dataset, settings: TaggingSettings, start: Model | None) -> _Labels:
    """Convert the labels where the scheme to train with, or that of the output, is another one."""
    names, offsets = dataset.label_names, dataset.encoded.sentences
    own = LabelScheme().count(names, dataset.labels, offsets).name(names)
    scheme, output = _schemes(dataset, settings, start, own)
    section: dict[str, Any] = {
        "scheme": output,
        "training_scheme": None,
        "rewritten": output != own,
        "in_feature_column": dataset.labels_in_feature_column,
    }
    if scheme is None or output is None:
        legal = legal_transitions(settings.legal, names, dataset.labels, offsets)
        if legal is None and start is not None:
            legal = _grown_transitions(start, names)
        return _Labels(dataset.labels, names, legal, names, section)
    known = () if start is None else start.states
    labels = TrainingLabels.of(names, dataset.labels, offsets, scheme, known)
    schemes = list(dict.fromkeys([own or output, scheme, output]))
    legal = converted_transitions(settings.legal, labels, offsets, schemes)
    if start is not None and settings.legal is None:
        legal = grown_transitions(start, labels)
    first = names if start is None and output == own else () if start is None else start.labels
    written = SchemeOutput.of(labels.names, scheme, legal, output, first)
    section["training_scheme"] = scheme
    return _Labels(labels.ids, labels.names, legal, written.labels, section)


def _schemes(
    dataset: Dataset, settings: TaggingSettings, start: Model | None, own: str | None
) -> tuple[str | None, str | None]:
    """The scheme to train with, None where labels are not converted, and that of the output."""
    scheme, output = settings.scheme, settings.output_scheme
    if start is not None:
        before = start.training_scheme or start.label_scheme
        if scheme not in (AS_IS, before):
            raise ParameterError(
                f"scheme is {scheme!r}, but the model to start from was trained with the label "
                f"scheme {before!r}"
            )
        if output not in (AS_IS, start.label_scheme):
            raise ParameterError(
                f"output_scheme is {output!r}, but the model to start from gives labels of the "
                f"scheme {start.label_scheme!r}"
            )
        return start.training_scheme, start.label_scheme if start.output is not None else own
    if own is None or (scheme == AS_IS and output in (AS_IS, own)):
        return None, own
    scheme = own if scheme == AS_IS else scheme
    if output == AS_IS:
        followed = followed_scheme(dataset.label_names, dataset.labels, dataset.encoded.sentences)
        if followed is None:
            raise ParameterError(
                f"scheme is {scheme!r}, but the labels of the training data follow no scheme that "
                f"the model could give again ({own!r} comes closest): give output_scheme"
            )
        output = own
    return scheme, output


def grown_transitions(start: Model, labels: TrainingLabels) -> NDArray[np.uint8]:
    """The legal transitions of converted labels, where a model to start from has some of them.

    They are those of the scheme, unless the model rules out more.
    """
    n = len(start.states)
    kept = np.append(np.arange(n), len(labels.names))
    legal = start.legal
    if legal is None or np.array_equal(labels.legal[np.ix_(kept, kept)], legal):
        return labels.legal
    _grown_transitions(start, labels.names)
    return legal


def _grown_transitions(start: Model, names: Sequence[str]) -> NDArray[np.uint8] | None:
    """The legal transitions of the model to start from, where no label is new."""
    if start.legal is not None and len(start.states) < len(names):
        raise ParameterError(
            f"the model to start from rules out transitions, but says nothing of those of the new "
            f"label {names[len(start.states)]!r}; give legal, such as {AUTO!r}"
        )
    return start.legal


def _default_scheme(dataset: Dataset, settings: TaggingSettings, start: Model | None) -> str:
    """Where it costs little, bioes: few types of chunks, and no features with edge weights."""
    if start is not None or _scheme_of(dataset, settings) is None:
        return AS_IS
    few = len(ChunkScheme(dataset.label_names).types) <= MOST_TYPES
    return BEST if few and not dataset.index.template.has_rich_edges else AS_IS


def _scheme_of(dataset: Dataset, settings: TaggingSettings) -> str | None:
    """The scheme of labels that can be converted.

    None where they follow no scheme, are not all known, or pairs of them are ruled out.
    """
    if not isinstance(settings.legal, str | None) or (dataset.labels == NO_LABEL).any():
        return None
    return followed_scheme(dataset.label_names, dataset.labels, dataset.encoded.sentences)


def _choose_scheme(
    dataset: Dataset, settings: TaggingSettings, callbacks: Sequence[Callback]
) -> tuple[str, dict[str, float]]:
    """Train shortly with the scheme of the data and with bioes, and choose on held-out sentences.

    Labels that follow no scheme, and those that are not all known, are left as they are.

    Returns:
        The scheme, and the score of each; no score where there is no choice.
    """
    own, n = _scheme_of(dataset, settings), len(dataset)
    if own is None or n < HELD_OUT:
        return AS_IS, {}
    if own == BEST:
        return own, {}
    cut = n - n // HELD_OUT
    train, held_out = dataset.select(np.arange(cut)), dataset.select(np.arange(cut, n))
    for callback in callbacks:
        callback.on_note(
            f"choosing the label scheme, {own} or {BEST}: {PASSES} passes over {cut:,} sentences "
            f"with each, and the score on the other {n - cut:,}"
        )
    scores: dict[str, float] = {}
    passes = min(PASSES, settings.passes or PASSES)
    short = replace(settings, passes=passes, verbose=False, calibrate=False)
    if settings.output_scheme == AS_IS:  # the scheme of a part may seem to be another one
        short = replace(short, output_scheme=own)
    for scheme in (own, BEST):
        short = replace(short, scheme=scheme)
        if not settings.chosen.online:
            short = replace(short, algorithm=DEFAULT, parameters=None)
        job = tagging_job(train, short)
        scores[scheme] = TagScorer(held_out, settings.metric).evaluate(job.run()).score
        if job.result.stopped == "interrupt":
            raise KeyboardInterrupt
    best = max(scores, key=lambda name: scores[name])
    for callback in callbacks:
        figures = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
        callback.on_note(f"label scheme: {best} ({figures})")
    return best, scores


def _encode_dev(
    dev: Any,
    dataset: Dataset,
    labels: Sequence[str],
    format: Format,  # noqa: A002
) -> Dataset:
    """Encode development data with the index of the training data."""
    if isinstance(dev, Dataset):
        raise ParameterError("development data must be text or sentences, not an encoded dataset")
    data, given = dev if isinstance(dev, tuple) and len(dev) == 2 else (dev, None)
    attributes = dataset.index.template.attributes
    corpus = corpus_of(
        data, given, format="attributes" if attributes else format, tokens=not attributes
    )
    return Dataset.encode(corpus, dataset.index, labels)
