"""The job that trains a tagger on an encoded dataset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.corpus.data import corpus_of
from adaptag.corpus.label_windows import LabelWindows
from adaptag.corpus.labels import warn_of_unknown_labels
from adaptag.corpus.settings import AS_IS
from adaptag.dataset.encoded import Dataset
from adaptag.decoding.label_plan import BEST, LabelPlan, convertible_scheme
from adaptag.decoding.scorer import TagScorer
from adaptag.errors import ParameterError
from adaptag.model.remapping import remap_weights
from adaptag.settings import AUTO
from adaptag.training.job import TrainingJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.corpus.columns import ColumnFormat
    from adaptag.decoding.model import Model
    from adaptag.features.index import FeatureIndex
    from adaptag.training.callbacks import Callback
    from adaptag.training.settings import TaggingSettings

    Format = ColumnFormat | str | None

__all__ = ["encode_dev", "tagging_job"]

HELD_OUT = 5  # the scheme is chosen on the last fifth of the sentences
PASSES = 3  # of the trainings that choose it
DEFAULT = "adf"  # the algorithm that chooses it, where the one to train with has no passes to stop


def tagging_job(
    dataset: Dataset,
    settings: TaggingSettings,
    *,
    dev: Any = None,
    start: Model | None = None,
    format: Format = None,  # noqa: A002
    tokenizer: Any = None,
    callbacks: Sequence[Callback] = (),
) -> TrainingJob[Model]:
    """The job that trains a tagger on an encoded dataset; the arguments are those of ``train``."""
    record: dict[str, Any] = {
        "sentences": len(dataset),
        "tokens": dataset.n_tokens,
        "feature_settings": dict(dataset.features),
    }
    if start is not None and record["feature_settings"].get("tokenizer") is None:
        record["feature_settings"]["tokenizer"] = start.configured_tokenizer
    found: dict[str, Any] = {}
    windows = LabelWindows.of(dataset.label_names, dataset.labels, dataset.encoded.sentences)
    if settings.scheme == AUTO:
        scheme = AS_IS
        if start is None:
            told = [*callbacks, *settings.reporters()]
            scheme, scores = _choose_scheme(dataset, windows, settings, told)
            found = {"scheme_scores": scores} if scores else {}
        settings = replace(settings, scheme=scheme)
    plan = LabelPlan.of(
        windows,
        settings,
        rich_edges=dataset.index.template.has_rich_edges,
        in_feature_column=dataset.labels_in_feature_column,
        start=start,
    )
    examples = plan.examples(dataset)
    weights = None
    if start is not None:
        record["start"] = dict(start.provenance)
        weights = remap_weights(start.weights, start.layout, examples.layout)
    scorer = None
    if dev is not None:
        cutter = tokenizer or record["feature_settings"].get("tokenizer")
        dev_data = encode_dev(dev, dataset.index, plan.labels, format, cutter)
        scorer = TagScorer(dev_data, plan.metric)
    build = partial(plan.model, dataset.index)
    return TrainingJob(
        examples,
        plan.settings,
        build,
        scorer,
        weights,
        callbacks=callbacks,
        record=record,
        found=found,
    )


def _choose_scheme(
    dataset: Dataset,
    windows: LabelWindows,
    settings: TaggingSettings,
    callbacks: Sequence[Callback],
) -> tuple[str, dict[str, float]]:
    """Train shortly with the scheme of the data and with bioes, and choose on held-out sentences.

    Labels that follow no scheme, and those that are not all known, are left as they are.

    Returns:
        The scheme, and the score of each; no score where there is no choice.
    """
    own, n = convertible_scheme(windows, settings), len(dataset)
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


def encode_dev(
    dev: Any,
    index: FeatureIndex,
    labels: Sequence[str],
    format: Format,  # noqa: A002
    tokenizer: Any = None,
) -> Dataset:
    """Encode development data with the index of the training data."""
    if isinstance(dev, Dataset):
        raise ParameterError("development data must be text or sentences, not an encoded dataset")
    data, given = dev if isinstance(dev, tuple) and len(dev) == 2 else (dev, None)
    attributes = index.template.attributes
    corpus = corpus_of(
        data,
        given,
        format="attributes" if attributes else format,
        tokens=not attributes,
        tokenizer=tokenizer,
    )
    dataset = Dataset.encode(corpus, index, labels)
    warn_of_unknown_labels(corpus.number_labels()[1], labels, f"development data {corpus.name}")
    return dataset
