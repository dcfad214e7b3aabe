"""The compiled form of a segmenter: patterns of characters with integer scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from adaptag._native import core, cores
from adaptag.corpus.segmented import tag_names
from adaptag.corpus.settings import TAG_SETS
from adaptag.errors import ModelError, ParameterError
from adaptag.features.characters import CharacterIndex, word_list
from adaptag.features.settings import CharacterFeatures
from adaptag.model.compact import check_prune, choose_threshold
from adaptag.model.linear_chain import check_temperature
from adaptag.model.record import check_record
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.storage.tensors import write_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from adaptag.model.linear_chain import LinearChain

    Chain = LinearChain[CharacterIndex]

__all__ = ["FORM", "VALUES", "Patterns", "SegmentPredictor"]

FORM = "predictor"  # of a file that holds a predictor instead of weights
VERSION = 2
VALUES: dict[str, np.dtype[Any]] = {"int8": np.dtype(np.int8), "int16": np.dtype(np.int16)}
NO_ROW = 0xFFFFFFFF  # of a pattern without scores that longer ones begin with
LOAD, COMPACT_LOAD = 0.6, 0.8  # the share of the slots that are used: fast, or small
TENSORS: dict[str, tuple[type[Any], tuple[int | None, ...]]] = {
    "pages": (np.uint32, (None,)),
    "entries": (np.uint32, (None, 256)),
    "character_rows": (np.int16, (None, 5, 8)),
    "constant_rows": (np.int32, (10, 8)),
    "slots": (np.uint32, (None, 4)),
}


class Patterns:
    """The patterns of a segmenter with their scores, from which predictors are made."""

    def __init__(self, model: Chain, settings: SegmenterSettings) -> None:
        settings.check()
        if model.labels != tag_names(settings.tags):
            names = ", ".join(model.labels)
            raise ModelError(f"tags is {settings.tags!r}; the segmenter has {names}")
        begin, inside, end, single = (model.labels.index(name) for name in TAG_SETS[settings.tags])
        self.model, self.settings = model, settings
        self.native = core.SegmentPatterns(
            model.index.native,
            model.layout,
            model.weights,
            (begin, inside, end, single),
            model.index.first_rare_word,
            settings.rare_weight,
            cores(),
        )

    def predictor(
        self, *, prune: float = 0.0, values: str = "int16", load: float = LOAD, names: bool = False
    ) -> SegmentPredictor:
        """Make a predictor.

        Args:
            prune: The strength below which patterns are left out: the largest difference that a
                pattern makes between two transitions.
            values: How scores of patterns are stored: ``int8`` or ``int16``.
            load: The share of the slots of the hash table that are used.
            names: Whether the words of the training data are kept.
        """
        features = self.model.index.features
        bits = 8 * VALUES[values].itemsize
        try:
            tables = self.native.pack(features.fold, prune, bits, load, cores())
        except ValueError as error:
            raise ModelError(f"the segmenter is damaged: {error}") from None
        numbers = {name: tables.pop(name) for name in ("outside", "exponent")}
        tables["rows"] = tables["rows"].view(VALUES[values]).reshape(-1, 8)
        if names:
            tables["words"] = self.model.index.word_text()
        return SegmentPredictor(
            self.settings,
            features,
            numbers,
            tables,
            self.model.index.n_words,
            self.model.provenance,
            self.model.temperature,
        )

    def compact(
        self,
        score: Callable[[SegmentPredictor | None], float] | None,
        within: float | None,
        prune: float | None,
        *,
        values: str,
        names: bool,
    ) -> SegmentPredictor:
        """Make a small predictor; the arguments are those of ``Segmenter.compact``.

        Args:
            score: Scores a predictor, or the full segmenter for None, on development data; None
                where there are none.
            within: How much of the score may be lost.
            prune: The threshold, if it is given.
            values: How scores of patterns are stored: ``int8`` or ``int16``.
            names: Whether the words of the training data are kept.
        """
        if values not in VALUES:
            raise ParameterError(
                f"weights is {values!r}; allowed for a segmenter, whose scores are integers: "
                + ", ".join(VALUES)
            )
        if prune is not None:
            check_prune(prune)

        def build(threshold: float, named: bool) -> SegmentPredictor:
            made = self.predictor(prune=threshold, values=values, load=COMPACT_LOAD, names=named)
            record = {"compact": {"prune": threshold, "weights": values}}
            return replace(made, provenance={**made.provenance, **record})

        def score_of(threshold: float | None) -> float:
            assert score is not None
            return score(None if threshold is None else build(threshold, False))

        chosen = choose_threshold(None if score is None else score_of, within, prune)
        return build(chosen, names)


@dataclass(frozen=True, eq=False, repr=False)
class SegmentPredictor:
    """What cuts texts; see ``segment_predictor.hpp``.

    Attributes:
        settings: The tag set, and the weight of rare words, which is part of the scores.
        features: Which features there were; ``fold`` says how characters are compared.
        numbers: The entry of what is outside of a sentence, and the exponent of scores.
        tensors: The tables, and ``words`` where the words of the training data are kept.
        n_words: The number of words of the training data.
        provenance: A record of how the model was made.
        temperature: What scores are divided by where they become probabilities.
    """

    settings: SegmenterSettings
    features: CharacterFeatures
    numbers: Mapping[str, int]
    tensors: Mapping[str, NDArray[Any]]
    n_words: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    temperature: float = 1.0

    def with_temperature(self, temperature: float) -> SegmentPredictor:
        """The same predictor with another temperature."""
        check_temperature(temperature)
        record = {**self.provenance, "temperature": temperature}
        return replace(self, temperature=temperature, provenance=record)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels."""
        return tag_names(self.settings.tags)

    @property
    def index(self) -> SegmentPredictor:
        """The features, which a predictor holds itself."""
        return self

    @property
    def n_predicates(self) -> int:
        """Patterns that have scores."""
        return sum(self.n_of_length)

    @property
    def n_of_length(self) -> tuple[int, int, int]:
        """Patterns of one, of two and of more characters that have scores."""
        slots, n_rows = self.tensors["slots"], len(self.tensors["character_rows"])
        parents = slots[slots[:, 2] != NO_ROW, 0]
        two = int(np.count_nonzero(parents < n_rows))
        return n_rows - 1, two, len(parents) - two

    @property
    def n_weights(self) -> int:
        """Scores of all patterns."""
        names = ("rows", "character_rows", "constant_rows")
        return sum(self.tensors[name].size for name in names)

    @cached_property
    def native(self) -> core.Segmenter:
        """The core's segmenter."""
        t = self.tensors
        return core.Segmenter(
            t["pages"],
            t["entries"],
            t["character_rows"],
            t["constant_rows"],
            t["slots"],
            t["rows"].reshape(-1).view(np.uint8),
            self.numbers["outside"],
            self.numbers["exponent"],
            8 * t["rows"].dtype.itemsize,
            len(self.labels),
            self.features.fold,
            self.temperature,
        )

    @property
    def has_words(self) -> bool:
        """Whether the words of the training data are kept."""
        return "words" in self.tensors

    def lexicon(self) -> core.Lexicon:
        """All words of the training data, to look words up in."""
        if not self.has_words:
            raise ModelError(
                "the segmenter was made compact without the words of its training data"
            )
        try:
            text = self.tensors["words"].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ModelError("the words of the training data are damaged: no UTF-8") from None
        return word_list(text.split("\n") if text else [], self.features.fold)

    # ---- files --------------------------------------------------------------------------------

    def write_as(self, kind: str, file: IO[bytes], extra: Mapping[str, NDArray[Any]]) -> None:
        """Write the file of a compact segmenter; ``extra`` holds its dictionary."""
        header = {
            "form": FORM,
            "version": VERSION,
            "settings": self.settings.record(),
            "features": self.features.record(),
            "numbers": dict(self.numbers),
            "n_words": self.n_words,
            "temperature": self.temperature,
            "provenance": dict(self.provenance),
        }
        extra_tensors = {f"extra.{name}": array for name, array in extra.items()}
        write_tensors(file, kind, header, {**self.tensors, **extra_tensors})

    @classmethod
    def from_file(
        cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
    ) -> SegmentPredictor:
        """Rebuild a predictor from its file; raise where it is damaged."""
        if header["version"] != VERSION:
            raise ValueError(f"version {header['version']}; this adaptag reads {VERSION}")
        tables = {name: tensors[name] for name in (*TENSORS, "rows")}
        for name, (dtype, shape) in TENSORS.items():
            _check_array(name, tables[name], [np.dtype(dtype)], shape)
        _check_array("rows", tables["rows"], VALUES.values(), (None, 8))
        if "words" in tensors:
            _check_array("words", tensors["words"], [np.dtype(np.uint8)], (None,))
            tables["words"] = tensors["words"]
        given = {name: header["features"][name] for name in CharacterFeatures.declared()}
        settings = {name: header["settings"][name] for name in SegmenterSettings.declared()}
        predictor = cls(
            SegmenterSettings(**settings).check(),
            CharacterFeatures(**given).check(),
            {name: int(header["numbers"][name]) for name in ("outside", "exponent")},
            tables,
            int(header["n_words"]),
            dict(header["provenance"]),
            header["temperature"],
        )
        check_temperature(predictor.temperature)
        check_record(predictor.provenance)
        predictor.native  # noqa: B018  checks the tables
        return predictor


def _check_array(
    name: str, array: NDArray[Any], dtypes: Any, shape: tuple[int | None, ...]
) -> None:
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype not in list(dtypes) or not fits:
        raise ValueError(f"{name} has the wrong type or shape")
