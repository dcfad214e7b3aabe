"""The parameters of a linear chain, and the file they are kept in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from adaptag._native import core
from adaptag.dataset.encoded import INDEX, prefixed
from adaptag.errors import ModelError, ParameterError, described
from adaptag.features.characters import CharacterIndex
from adaptag.features.index import FeatureIndex
from adaptag.model.compact_index import CompactIndex
from adaptag.model.record import check_record, check_sections
from adaptag.model.sparse import dense_weights, is_sparse, sparse_tensors, without_zero_rows
from adaptag.model.summary import model_facts, trained_briefly
from adaptag.rendering.tables import Shown, facts_table
from adaptag.storage.stored import Stored
from adaptag.storage.tensors import write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from typing_extensions import Self

    from adaptag.model.original import OriginalWeights

__all__ = ["CALIBRATION", "LinearChain", "check_temperature"]

VERSION = 4
STATE = "state."  # before the names of the tensors of the training state
CALIBRATION = "calibration"  # the section of the configuration that holds the temperature
EXTRA = "extra."  # before the names of further tensors
INDEXES: dict[str, type[FeatureIndex] | type[CharacterIndex]] = {
    "template": FeatureIndex,
    "characters": CharacterIndex,
    "compact": CompactIndex,
}

KIND = "tagger"
USE = "model.tag(tokens), {}model.segments(tokens), model.evaluate(data), model.save(path)"
USE_TEXT = "model.tag_text(text), "  # of models that need nothing but tokens
NO_WEIGHTS = np.zeros(0, np.float32)

Index = TypeVar("Index", FeatureIndex, CharacterIndex)


@dataclass(frozen=True, eq=False, repr=False)
class LinearChain(Shown, Stored, Generic[Index]):
    """Labels, features and weights.

    Attributes:
        labels: The names of the labels that the model gives.
        index: The feature index.
        weights: The weights, float32, rows of predicates one after the other; see ``layout.hpp``.
            Those of a compact model are in its index, and this is empty.
        provenance: A record of how the model was made: version, settings, data, scores. Nothing
            reads it back.
        configuration: What the model needs to know to be used, by section: ``labels`` (the scheme
            and metric), ``calibration`` (the temperature), ``text`` (the tokenizer),
            ``documents``, ``segmentation``, ``stream``.
        states: The labels that the model was trained with, Y of them, to which the weights belong.
            They are ``labels``, unless it was trained with another label scheme.
        legal: The transitions that are possible, uint8 ``[Y + 1, Y + 1]``, the last row and column
            being outside of the sentence. None means that all are possible.
        state: The state from which training can continue, by name; empty if it was not kept.
        extra: Further arrays that belong to the configuration, by name.
        original: The weights as they are in the file of another program, which the model was read
            from; None for all other models. They are not saved.
    """

    kind: ClassVar[str] = "model"

    labels: tuple[str, ...]
    index: Index
    weights: NDArray[np.float32]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    states: tuple[str, ...] = field(default=(), kw_only=True)
    legal: NDArray[np.uint8] | None = field(default=None, kw_only=True)
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    original: OriginalWeights | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", self.states or self.labels)

    def __repr__(self) -> str:
        name, features = type(self).__name__, self.index.n_predicates
        trained = trained_briefly(self.provenance)
        return f"<{name} of {len(self.labels)} labels, {features:,} features{trained}>"

    def _shown(self) -> list[Any]:
        kind = f"{'compact ' * self.is_compact}{KIND}"
        labels, text = (self.configuration.get(name, {}) for name in ("labels", "text"))
        own = {
            "columns": getattr(self.index, "n_columns", None),
            "label scheme": labels.get("scheme"),
            "trained with": labels.get("training_scheme"),
            "tokenizer": text.get("tokenizer"),
        }
        template = getattr(self.index, "template", None)
        takes_text = template is not None and not template.attributes and template.n_columns == 1
        use = USE.format(USE_TEXT if takes_text else "")
        return [facts_table(model_facts(self, kind, own=own, use=use))]

    @cached_property
    def layout(self) -> core.Layout:
        """How the weights lie in memory."""
        return core.Layout(len(self.states), *self.index.n_of_kind)

    @property
    def temperature(self) -> float:
        """What scores are divided by where they become probabilities; 1 if not calibrated."""
        return float(self.configuration.get(CALIBRATION, {}).get("temperature", 1.0))

    def with_temperature(self, temperature: float) -> Self:
        """The same model with another temperature, which changes probabilities but no labels."""
        check_temperature(temperature)
        section = {"temperature": float(temperature)}
        return replace(
            self,
            configuration={**self.configuration, CALIBRATION: section},
            provenance={**self.provenance, **section},
        )

    @property
    def is_compact(self) -> bool:
        """Whether the model is compact: pruned, and ready to tag but not to train further."""
        return isinstance(self.index, CompactIndex)

    @property
    def n_weights(self) -> int:
        """Weights of the model, without the padding of their rows."""
        if isinstance(self.index, CompactIndex):
            return len(self.index.entries[0])
        node, both, edge = self.index.n_of_kind
        y = len(self.states)
        return (node + both) * y + (both + edge) * y * y

    def node_weights(self) -> NDArray[np.float32]:
        """Node weights of all predicates that have them, ``[P, Y]``; a view where possible."""
        node, both, _ = self.index.n_of_kind
        if isinstance(self.index, CompactIndex):
            predicates, previous, labels, values = self.index.entries
            table = np.zeros((node + both, len(self.states)), np.float32)
            mine = previous < 0
            table[predicates[mine], labels[mine]] = values[mine]
            return table
        y, w = self.layout.n_labels, self.layout.width
        plain = self.weights[: node * w].reshape(node, w)[:, :y]
        if not both:
            return plain
        rows = self.weights[node * w : node * w + both * w * (1 + y)].reshape(both, w * (1 + y))
        return np.concatenate([plain, rows[:, :y]])

    def edge_weights(self) -> NDArray[np.float32]:
        """Edge weights of all predicates that have them, ``[P, Y, Y]``: (previous, current)."""
        node, both, edge = self.index.n_of_kind
        if isinstance(self.index, CompactIndex):
            predicates, previous, labels, values = self.index.entries
            table = np.zeros((both + edge, len(self.states), len(self.states)), np.float32)
            mine = previous >= 0
            table[predicates[mine] - node, previous[mine], labels[mine]] = values[mine]
            return table
        y, w = self.layout.n_labels, self.layout.width
        begin, end = node * w, node * w + both * w * (1 + y)
        rich = self.weights[begin:end].reshape(both, 1 + y, w)[:, 1:, :y]
        return np.concatenate([rich, self.weights[end:].reshape(edge, y, w)[:, :, :y]])

    def weights_of(
        self, predicate: int
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
        """The node weights ``[Y]`` and edge weights ``[Y, Y]`` of a predicate, where it has any."""
        node, both, edge = self.index.n_of_kind
        n = node + both + edge
        if not isinstance(predicate, Integral) or not 0 <= predicate < n:
            raise ParameterError(f"the predicate is {described(predicate)}; allowed: 0 to {n - 1}")
        if isinstance(self.index, CompactIndex):
            _, previous, labels, values = self.index.native.weights(predicate, predicate + 1)
            rows = np.zeros((1 + len(self.states), len(self.states)), np.float32)
            rows[previous + 1, labels] = values
            return (
                rows[0] if predicate < node + both else None,
                rows[1:] if predicate >= node else None,
            )
        y, w = self.layout.n_labels, self.layout.width
        if predicate < node:
            return self.weights[predicate * w :][:y], None
        begin = node * w + (predicate - node) * w * (1 + y)
        if predicate < node + both:
            rows = self.weights[begin : begin + w * (1 + y)].reshape(1 + y, w)[:, :y]
            return rows[0], rows[1:]
        begin = node * w + both * w * (1 + y) + (predicate - node - both) * w * y
        return None, self.weights[begin : begin + w * y].reshape(y, w)[:, :y]

    def _write(self, file: IO[bytes]) -> None:
        self.write_as(self.kind, file)

    def write_as(self, kind: str, file: IO[bytes]) -> None:
        """Write the file of a model of this kind; weights that are not finite are refused."""
        if not np.isfinite(self.weights).all():
            raise ModelError("a weight of the model is not finite; it is not saved")
        index: Any = self.index
        weights, sparse = self.weights, not self.is_compact and is_sparse(self)
        if sparse and not self.state:  # the state has a part for each feature
            index, weights = without_zero_rows(self)
        index_header, index_tensors = index.to_file()
        header = {
            "version": VERSION,
            "labels": list(self.labels),
            "states": list(self.states),
            "index": index_header,
            "configuration": dict(self.configuration),
            "provenance": dict(self.provenance),
        }
        tensors = {f"{INDEX}{name}": array for name, array in index_tensors.items()}
        if sparse:
            tensors |= sparse_tensors(weights)
        elif not self.is_compact:
            tensors["weights"] = weights
        tensors |= {f"{STATE}{name}": array for name, array in self.state.items()}
        tensors |= {f"{EXTRA}{name}": array for name, array in self.extra.items()}
        if self.legal is not None:
            tensors["legal"] = self.legal
        write_tensors(file, kind, header, tensors)

    @classmethod
    def _from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str
    ) -> Self:
        try:
            if header["version"] != VERSION:
                raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
            labels, states = (
                tuple(str(label).encode().decode() for label in header[name])
                for name in ("labels", "states")
            )
            index: Any = INDEXES[header["index"]["kind"]].from_file(
                header["index"], prefixed(tensors, INDEX)
            )
            weights = NO_WEIGHTS
            if not isinstance(index, CompactIndex):
                layout = core.Layout(len(states), *index.n_of_kind)
                weights = dense_weights(tensors, layout.n_weights)
            model = cls(
                labels,
                index,
                weights,
                dict(header["provenance"]),
                configuration=dict(header["configuration"]),
                states=states,
                legal=tensors.get("legal"),
                state=prefixed(tensors, STATE),
                extra=prefixed(tensors, EXTRA),
            )
            model._check()
        except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ModelError(f"{name}: malformed model: {error}") from None
        return model

    def _check(self) -> None:
        """Raise where the parts of a file do not fit together."""
        n_labels = len(self.states)
        if self.legal is not None and (
            self.legal.dtype != np.uint8 or self.legal.shape != (n_labels + 1,) * 2
        ):
            raise ValueError("the transitions have the wrong type or shape")
        if self.weights.dtype != np.float32 or self.weights.ndim != 1:
            raise ValueError("weights have the wrong type or shape")
        if isinstance(self.index, CompactIndex):
            fitting = self.index.n_labels == n_labels
        else:
            fitting = len(self.weights) == self.layout.n_weights
        distinct = all(len(set(names)) == len(names) for names in (self.labels, self.states))
        if not fitting or not distinct:
            raise ValueError("labels and weights do not fit together")
        check_record(self.provenance)
        check_sections(self.configuration)
        if CALIBRATION in self.configuration:
            check_temperature(self.configuration[CALIBRATION]["temperature"])


def check_temperature(temperature: Any) -> None:
    """Raise where a temperature is not a number that scores can be divided by."""
    is_number = isinstance(temperature, (int, float)) and not isinstance(temperature, bool)
    if not (is_number and 1e-6 <= temperature <= 1e12):
        raise ParameterError(f"temperature is {temperature!r}; allowed: [1e-6, 1e12]")
