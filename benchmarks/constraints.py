"""What do constraints cost, and do they hold? Random models and random sentences.

Speed: pairs of labels beside plain Viterbi, and each of 25 labels at most once, by the length of
the sentence. Weights and words are random, so the constraints are broken far more often than by a
trained model.

    python -m benchmarks.constraints
    python -m benchmarks.constraints --violations 1000000

``--violations`` tags that many random sentences instead, under random constraints and by random
models. Each label sequence is checked by the definition of the constraints in ``tests/reference``.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import adaptag
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import CorpusError, ParameterError
from tests.reference.constraints import satisfies

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = 40
BATCH = 500  # sentences that share a model and constraints
REPEATS = 5
LABEL_SETS = {
    "labels": (["A", "B", "C", "D", "O"], {}),
    "chunks": (["O", "B-X", "I-X", "B-Y", "I-Y", "B-Z"], {"scheme": "as-is"}),
    "bioes": (["B-X", "I-X", "O", "B-Y", "I-Y", "I-Y"], {"scheme": "bioes"}),
}


def sentences(rng: np.random.Generator, n: int, shortest: int, longest: int) -> list[list[str]]:
    """Random sentences."""
    lengths = rng.integers(shortest, longest + 1, n)
    return [[f"w{k}" for k in rng.integers(0, WORDS, length)] for length in lengths]


def random_model(
    rng: np.random.Generator, labels: list[str], scale: float, options: dict[str, Any]
) -> adaptag.Model:
    """A model with random weights."""
    words = sentences(rng, 20, len(labels), len(labels))
    trained = adaptag.train(words, [labels] * 20, passes=1, verbose=False, **options)
    values = rng.normal(0, scale, len(trained.weights))
    weights = np.where(trained.weights != 0, values, 0).astype(np.float32)
    return replace(trained, weights=weights)


# ---- violations ----------------------------------------------------------------------------------


def random_constraints(rng: np.random.Generator, model: adaptag.Model) -> dict[str, Any]:
    """Random constraints on the labels and types of a model."""
    known = [*model.labels, *model.scheme.types]

    def some(most: int, least: int = 1) -> list[str]:
        return [str(n) for n in rng.permutation(known)[: rng.integers(least, most + 1)]]

    def side() -> str | None:
        return None if rng.random() < 0.2 else some(1)[0]

    separator, *names = some(4, least=2)
    pair = [side(), some(1)[0]]
    makers: dict[str, Callable[[], Any]] = {
        "at_most_once": lambda: some(4),
        "at_least_once": lambda: some(2),
        "at_most_once_between": lambda: {separator: names},
        "order": lambda: [some(4, least=2)],
        "forbidden_pairs": lambda: [pair, [some(1)[0], side()]],
        "followed_by": lambda: {some(1)[0]: [side(), *some(3)]},
        "preceded_by": lambda: {some(1)[0]: [side(), *some(3)]},
        "fixed": lambda: {int(rng.integers(-1, 1)): some(4)},
    }
    chosen = rng.permutation(list(makers))[: rng.integers(1, 4)]
    return {str(name): makers[str(name)]() for name in chosen}


def tag_if_possible(
    model: adaptag.Model, sentence: list[str], declared: dict[str, Any]
) -> list[str] | None:
    """The best labels of a sentence; None where there are none."""
    try:
        return model.tag(sentence, constraints=declared)
    except CorpusError:
        return None


def count_violations(n: int, seed: int) -> None:
    """Tag random sentences under random constraints, and check every label sequence."""
    rng = np.random.default_rng(seed)
    checked = violations = impossible = too_hard = changed = 0
    begin, models = time.perf_counter(), {}
    while checked < n:
        kind = str(rng.choice(list(LABEL_SETS)))
        if kind not in models or rng.random() < 0.1:
            models[kind] = random_model(rng, *_with_scale(rng, kind))
        model = models[kind]
        declared = random_constraints(rng, model)
        batch = sentences(rng, BATCH, 1, 12)
        plain = model.tag_all(batch)
        try:
            tagged = model.tag_all(batch, constraints=declared)
        except CorpusError:  # for one of them nothing is possible: one by one
            tagged = [tag_if_possible(model, s, declared) for s in batch[: BATCH // 10]]
            impossible += tagged.count(None)
        except ParameterError:
            too_hard += 1
            continue
        for labels, without in zip(tagged, plain, strict=False):
            if labels is not None:
                checked += 1
                changed += labels != without
                violations += not satisfies(labels, declared, model.labels, model.scheme.chunked)
    seconds = time.perf_counter() - begin
    print(
        f"{checked:,} label sequences checked, {changed:,} of them changed by the constraints: "
        f"{violations:,} violations; {impossible:,} sentences have no label sequence that "
        f"satisfies the constraints; {too_hard} batches refused; {seconds:.0f} s"
    )


def _with_scale(rng: np.random.Generator, kind: str) -> tuple[list[str], float, dict[str, Any]]:
    labels, options = LABEL_SETS[kind]
    return labels, float(rng.choice([0.3, 1.0, 3.0])), options


# ---- speed ---------------------------------------------------------------------------------------


def in_turns(calls: list[Callable[[], Any]]) -> list[float]:
    """The best time of each of some calls, in seconds; they take turns."""
    best = [float("inf")] * len(calls)
    for _, (k, call) in itertools.product(range(REPEATS + 1), enumerate(calls)):
        begin = time.perf_counter()
        call()
        best[k] = min(best[k], time.perf_counter() - begin)
    return best


def pairs(model: adaptag.Model) -> None:
    """Pairs of labels beside plain Viterbi, on many sentences and on one."""
    rng = np.random.default_rng(0)
    labels = model.labels
    declared = adaptag.Constraints(
        forbidden_pairs=list(itertools.pairwise(labels)), followed_by={labels[0]: labels[5:9]}
    )
    batch = sentences(rng, 4000, 12, 36)
    corpus = adaptag.Model._corpus(model, batch)
    plain, constrained = in_turns(
        [
            lambda: model.tag_corpus(corpus, DecodingOptions(threads=1)),
            lambda: model.tag_corpus(corpus, DecodingOptions(None, declared, 1)),
        ]
    )
    print(
        f"pairs, {len(labels)} labels, 4,000 sentences: {constrained / plain:.2f} × plain Viterbi"
    )


def is_tagged(model: adaptag.Model, sentence: list[str]) -> bool:
    """Tag a sentence in which each label occurs at most once; False where it takes too long."""
    try:
        model.tag(sentence, constraints={"at_most_once": "*"})
    except ParameterError:
        return False
    return True


def at_most_once(model: adaptag.Model, n: int) -> None:
    """Each label at most once: the sentences that break it, their CPU time, and failures."""
    rng = np.random.default_rng(1)
    print("| Tokens | Sentences | Broken before | Refused | CPU ms of these, median | Longest |")
    print("|---:|---:|---:|---:|---:|---:|")
    for length in (6, 12, 18, 24):
        times, refused = [], 0
        for sentence in sentences(rng, n, length, length):
            labels = model.tag(sentence)
            if satisfies(labels, {"at_most_once": model.labels}, model.labels, False):
                continue
            begin = time.process_time()
            refused += not is_tagged(model, sentence)
            times.append(1e3 * (time.process_time() - begin))
        median, most = (np.median(times), max(times)) if times else (0, 0)
        print(
            f"| {length} | {n} | {len(times)} | {refused} | {median:.1f} | {most:.0f} |", flush=True
        )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--violations", type=int, help="check this many label sequences instead")
    parser.add_argument("--sentences", type=int, default=64, help="for each length")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.violations:
        count_violations(options.violations, options.seed)
        return
    model = random_model(np.random.default_rng(25), [f"L{i}" for i in range(25)], 1.0, {})
    pairs(model)
    at_most_once(model, options.sentences)


if __name__ == "__main__":
    main()
