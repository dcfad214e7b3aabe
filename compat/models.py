"""Every CRFsuite model of the installed projects, tagged with by python-crfsuite and by adaptag."""

from __future__ import annotations

import math
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pycrfsuite

import adaptag
from adaptag import pycrfsuite as ours
from adaptag.foreign.files import write_foreign
from compat.natural import natural_sequences
from compat.sources import fresh_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MIN_MODELS",
    "TOLERANCE",
    "ModelCheck",
    "check_model",
    "check_models",
    "installed_models",
]

MAGIC = b"lCRF"
TOLERANCE = 1e-6  # of probabilities and marginals
N_SEQUENCES = 1000
MAX_LENGTH = 30
N_ROUNDS = 3  # of tagging, for its speed
SEED = 18
MIN_MODELS = 14


@dataclass
class ModelCheck:
    """What was found for one model.

    Attributes:
        name: Its path in the installed packages.
        size: Bytes of its file.
        n_labels: Number of labels.
        n_random: Sequences of random attributes.
        n_natural: Sequences that the project made of texts.
        n_tokens: Tokens of all sequences.
        different: Sequences that are tagged differently.
        probability: Largest difference of the probability of the best labels.
        marginal: Largest difference of a marginal.
        rewritten: Sequences that pycrfsuite tags differently with the model that adaptag loaded and
            wrote again.
        loaded: Sequences that the model tags differently as a model of adaptag, whose scores are
            float32, ties aside.
        ties: Sequences with other labels in this way, which are as probable.
        speed: Sequences per second of adaptag's tagger, divided by those of pycrfsuite's.
    """

    name: str
    size: int
    n_labels: int = 0
    n_random: int = 0
    n_natural: int = 0
    n_tokens: int = 0
    different: int = 0
    probability: float = 0.0
    marginal: float = 0.0
    rewritten: int = 0
    loaded: int = 0
    ties: int = 0
    speed: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        exact = not self.different + self.rewritten + self.loaded
        return exact and max(self.probability, self.marginal) <= TOLERANCE


def installed_models() -> list[Path]:
    """The CRFsuite models among the files of the installed packages, each content once."""
    models: dict[bytes, Path] = {}
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*")):
        if path.is_file() and path.stat().st_size > len(MAGIC):
            with path.open("rb") as file:
                if file.read(len(MAGIC)) == MAGIC:
                    models.setdefault(path.read_bytes(), path)
    return list(models.values())


def check_models() -> Iterator[ModelCheck]:
    """Check all models, one after another."""
    natural = natural_sequences(Random(SEED))
    for path in installed_models():
        yield check_model(path, natural.get(str(path.resolve()), []))


def check_model(path: Path, natural: list[Any]) -> ModelCheck:
    """Tag random and natural sequences with both programs, and with the model written again."""
    name = path.relative_to(sysconfig.get_path("purelib")).as_posix()
    check = ModelCheck(name, path.stat().st_size)
    random = Random(f"{SEED} {name}")
    theirs = pycrfsuite.Tagger()
    theirs.open(str(path))
    tagger = ours.Tagger()
    tagger.open(str(path))
    sequences = list(_random_sequences(random, tagger))
    check.n_random = len(sequences)
    sequences += random.sample(natural, min(len(natural), N_SEQUENCES))
    check.n_natural = len(sequences) - check.n_random
    check.n_labels = len(theirs.labels())
    if sorted(tagger.labels()) != sorted(theirs.labels()):
        raise AssertionError(f"{name}: other labels")
    rounds = [(_tag_all(theirs, sequences), _tag_all(tagger, sequences)) for _ in range(N_ROUNDS)]
    (expected, _), (found, _) = rounds[0]
    check.speed = min(a for (_, a), _ in rounds) / min(b for _, (_, b) in rounds)
    check.n_tokens = sum(map(len, expected))
    check.different = sum(a != b for a, b in zip(expected, found, strict=True))
    for sequence, labels in zip(sequences, expected, strict=True):
        probability, marginal = _differences(theirs, tagger, sequence, labels)
        check.probability = max(check.probability, probability)
        check.marginal = max(check.marginal, marginal)
    folder = fresh_folder("models")
    model = adaptag.load(path)
    write_foreign(model, folder / "rewritten", "crfsuite")
    rewritten = pycrfsuite.Tagger()
    rewritten.open(str(folder / "rewritten"))
    for sequence, labels in zip(sequences, expected, strict=True):
        theirs.set(sequence)
        check.rewritten += rewritten.tag(sequence) != labels
        loaded = _compared(theirs, labels, model.tag(sequence))
        check.loaded += loaded == "different"
        check.ties += loaded == "tie"
    return check


def _compared(theirs: Any, expected: list[str], found: list[str]) -> str:
    """Whether labels of the sequence that was set are the ``same``, a ``tie`` or ``different``."""
    if found == expected:
        return "same"
    probabilities = theirs.probability(expected), theirs.probability(found)
    return "tie" if math.isclose(*probabilities, rel_tol=TOLERANCE) else "different"


def _random_sequences(random: Random, tagger: Any) -> Iterator[Any]:
    """Sequences of attributes of the model and unknown ones, as strings or with values."""
    attributes = sorted(tagger.info().attributes)  # pycrfsuite's fails where one has a line break
    values = (1.0, 0.5, 2.0, -1.0, 0.0, 0.125)
    for number in range(N_SEQUENCES):
        sequence = []
        for _ in range(random.randint(1, MAX_LENGTH)):
            token = random.choices(attributes, k=random.randint(0, 15))
            token += [f"unknown {random.random()}" for _ in range(random.randint(0, 2))]
            sequence.append(token)
        if number % 4 == 3:
            yield [{name: random.choice(values) for name in token} for token in sequence]
        else:
            yield sequence


def _tag_all(tagger: Any, sequences: list[Any]) -> tuple[list[list[str]], float]:
    """The labels of all sequences, and the seconds of this process."""
    began = time.process_time()
    labels = [tagger.tag(sequence) for sequence in sequences]
    return labels, time.process_time() - began


def _differences(theirs: Any, tagger: Any, sequence: Any, labels: list[str]) -> tuple[float, float]:
    """The largest differences of the probability of labels and of the marginals."""
    theirs.set(sequence)
    tagger.set(sequence)
    probability = abs(theirs.probability(labels) - tagger.probability(labels))
    marginal = max(
        abs(theirs.marginal(label, position) - tagger.marginal(label, position))
        for label in theirs.labels()
        for position in range(len(sequence))
    )
    return probability, marginal
