"""The labels that a tagger is trained with and those that it gives, decided from all training data.

What is decided depends on the windows of labels alone, so data that lies in shards needs to be
brought together only as such. Then each part of the data is converted by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from adaptag.corpus.chunks import ChunkScheme, LabelScheme
from adaptag.corpus.labels import check_transitions
from adaptag.corpus.schemes import TrainingLabels, followed_scheme
from adaptag.corpus.settings import AS_IS
from adaptag.corpus.tokenizers import tokenizer_name
from adaptag.corpus.transitions import converted_transitions, legal_transitions
from adaptag.decoding.model import Model
from adaptag.decoding.output import SchemeOutput
from adaptag.errors import ParameterError
from adaptag.evaluation import metric_of
from adaptag.settings import AUTO
from adaptag.training.settings import MOST_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from adaptag.corpus.label_windows import LabelWindows
    from adaptag.corpus.schemes import LabelConversion
    from adaptag.dataset.encoded import Examples
    from adaptag.features.index import FeatureIndex
    from adaptag.training.settings import TaggingSettings

    E = TypeVar("E", bound=Examples)

__all__ = ["BEST", "LabelPlan", "convertible_scheme", "grown_transitions"]

BEST = "bioes"  # the scheme that is tried beside that of the data


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """What becomes of the labels of training data.

    Attributes:
        settings: The settings of training, with the scheme that was decided.
        names: The labels of the data.
        conversion: How they are written as states; None means that they are the states.
        states: The labels that are trained, Y of them.
        legal: The transitions between states that are possible, uint8 ``[Y + 1, Y + 1]``; None
            means that all are.
        labels: The labels that the model gives.
        section: What the model needs to know of its labels, as in its configuration.
    """

    settings: TaggingSettings
    names: tuple[str, ...]
    conversion: LabelConversion | None
    states: tuple[str, ...]
    legal: NDArray[np.uint8] | None
    labels: tuple[str, ...]
    section: dict[str, Any]

    @classmethod
    def of(
        cls,
        windows: LabelWindows,
        settings: TaggingSettings,
        *,
        rich_edges: bool,
        in_feature_column: bool,
        start: Model | None = None,
    ) -> LabelPlan:
        """Decide what becomes of the labels of training data.

        Args:
            windows: The labels of all training data.
            settings: The settings of training.
            rich_edges: Whether features of tokens have edge weights.
            in_feature_column: Whether all values of the last feature column are labels.
            start: The model to start from.
        """
        if settings.scheme is None:
            default = _default_scheme(windows, settings, start, rich_edges=rich_edges)
            settings = replace(settings, scheme=default)
        elif settings.scheme == AUTO:
            raise ParameterError(
                "scheme is auto, for which a part of the data is trained on, and this data is only "
                "known by the windows of its labels; allowed: a name, or none for the default"
            )
        names = windows.names
        own = LabelScheme().count(windows).name(names)
        scheme, output = _schemes(windows, settings, start, own)
        section: dict[str, Any] = {
            "scheme": output,
            "training_scheme": None,
            "rewritten": output != own,
            "in_feature_column": in_feature_column,
            "metric": metric_of(settings.metric, names),
        }
        if scheme is None or output is None:
            legal = legal_transitions(settings.legal, windows)
            if legal is None and start is not None:
                legal = _grown_transitions(start, names)
            return cls(settings, names, None, names, legal, names, section)
        training = TrainingLabels.of(windows, scheme, () if start is None else start.states)
        schemes = list(dict.fromkeys([own or output, scheme, output]))
        legal = converted_transitions(settings.legal, training, windows, schemes)
        if start is not None and settings.legal is None:
            legal = grown_transitions(start, training)
        first = names if start is None and output == own else () if start is None else start.labels
        written = SchemeOutput.of(training.names, scheme, legal, output, first)
        section["training_scheme"] = scheme
        return cls(
            settings, names, training.conversion, training.names, legal, written.labels, section
        )

    @property
    def metric(self) -> str:
        """What development data is scored by: ``F1`` or ``accuracy``."""
        return str(self.section["metric"])

    def examples(self, data: E) -> E:
        """Convert the labels of the training data, or of a part of it.

        Args:
            data: Examples whose labels are numbered as ``names``.

        Raises:
            CorpusError: The labels of a sentence need a transition that is ruled out.
        """
        if tuple(data.label_names) != self.names:
            raise ParameterError(
                f"the data has the labels {', '.join(data.label_names)}; the labels of all "
                f"training data are {', '.join(self.names)}, in this order"
            )
        ids, offsets = data.labels, data.encoded.sentences
        if self.conversion is not None:
            ids = self.conversion.apply(ids, offsets)
        if self.legal is not None:
            check_transitions(self.legal, ids, offsets, self.states)
        return replace(data, labels=ids, label_names=self.states, legal=self.legal)

    def model(self, index: FeatureIndex, weights: Any, record: dict[str, Any]) -> Model:
        """Make the model of weights and the record of their training."""
        configuration: dict[str, Any] = {"labels": dict(self.section)}
        if record:  # else the model is only scored
            configuration["training"] = {
                "algorithm": record["algorithm"],
                "parameters": record["parameters"],
            }
            tokenizer = tokenizer_name(record.get("feature_settings", {}).get("tokenizer"))
            if tokenizer is not None:
                configuration["text"] = {"tokenizer": tokenizer}
        return Model(
            self.labels,
            index,
            weights,
            record,
            configuration=configuration,
            states=self.states,
            legal=self.legal,
        )


def _schemes(
    windows: LabelWindows, settings: TaggingSettings, start: Model | None, own: str | None
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
        if followed_scheme(windows) is None:
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
    kept = [*range(n), len(labels.names)]
    legal = start.legal
    if legal is None or (labels.legal[kept][:, kept] == legal).all():
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


def _default_scheme(
    windows: LabelWindows, settings: TaggingSettings, start: Model | None, *, rich_edges: bool
) -> str:
    """Where it costs little, bioes: few types of chunks, and no features with edge weights."""
    if start is not None or rich_edges or convertible_scheme(windows, settings) is None:
        return AS_IS
    return BEST if len(ChunkScheme(windows.names).types) <= MOST_TYPES else AS_IS


def convertible_scheme(windows: LabelWindows, settings: TaggingSettings) -> str | None:
    """The scheme of labels that can be converted.

    None where they follow no scheme, are not all known, or pairs of them are ruled out.
    """
    if not isinstance(settings.legal, str | None) or windows.some_unknown:
        return None
    return followed_scheme(windows)
