"""Fitting classifiers of reviews, timed in a process of its own; prints one JSON object.

usage: python sentiment_fit.py FILE THREADS REPEATS

FILE is what `save` wrote. ADF takes turns with scikit-learn's SGDClassifier, with as many passes.
Seconds are the sum over the four domains, the least of the repeats; accuracy is the mean.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sentiment import CHOSEN, DOMAINS, all_folds, ours, sgd_classifier

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.lib.npyio import NpzFile
    from sentiment import Part

CSR = ("data", "indices", "indptr", "shape")


def save(path: Path) -> None:
    """Write the first fold of each domain."""
    arrays: dict[str, Any] = {}
    for domain in DOMAINS:
        parts = all_folds((domain,))[domain, 1]
        for name, (X, y) in zip(("train", "test"), parts, strict=True):  # noqa: N806
            arrays[f"{domain} {name} y"] = y
            arrays |= {f"{domain} {name} {field}": getattr(X, field) for field in CSR}
    np.savez(path, **arrays)


def part(file: NpzFile, name: str) -> Part:
    """Reviews and labels that `save` wrote."""
    *arrays, shape = (file[f"{name} {field}"] for field in CSR)
    return sparse.csr_matrix(tuple(arrays), shape=tuple(shape)), file[f"{name} y"]


def main(path: str, threads: str, repeats: str) -> None:
    file = np.load(path)
    domains = [(part(file, f"{domain} train"), part(file, f"{domain} test")) for domain in DOMAINS]
    settings = dict(CHOSEN["adaptag adf"])
    if "threads" in {field.name for field in dataclasses.fields(type(ours("adf", 1)))}:
        settings["threads"] = int(threads)
    peer = CHOSEN["SGDClassifier"] | {"passes": settings["passes"]}
    makers = {"adf": lambda: ours("adf", 1, **settings), "peer": lambda: sgd_classifier(1, **peer)}
    found: dict[str, float] = {}
    for _ in range(int(repeats)):
        spent, accuracies = dict.fromkeys(makers, 0.0), {name: [] for name in makers}
        for train, test in domains:
            for name, make in makers.items():
                model = make()
                begin = time.perf_counter()
                model.fit(*train)
                spent[name] += time.perf_counter() - begin
                accuracies[name].append(100 * model.score(*test))
        for name in makers:
            found[f"{name}_s"] = min(spent[name], found.get(f"{name}_s", spent[name]))
            found[f"{name}_accuracy"] = statistics.mean(accuracies[name])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
