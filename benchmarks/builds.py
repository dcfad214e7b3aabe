"""How far do the numbers of builds differ: compilers, standard libraries, variants of the core?

usage: python builds.py PYTHON [PYTHON …]

Trains on the demo corpus with every algorithm, in the environment of each Python that is given and
with each variant of the core that is installed there, and compares all of them with the first:
weights, probabilities of labels, and labels of the test sentences. Two builds that differ in the
last bits of a sum take turns that grow apart, so weights differ by more than rounding.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import report
from report import Table

PASSES = 5
VARIANTS = "from adaptag import _native; print(*_native.available)"
TRAINING = f"""
import sys
import numpy as np
import adaptag
from adaptag.corpus.ingredients import ingredients
from adaptag.training.algorithms import algorithms
splits = ingredients()
train = [list(s.tokens) for s in splits.train], [list(s.labels) for s in splits.train]
test = [list(s.tokens) for s in splits.test]
numbers = {{}}
for name in algorithms():
    model = adaptag.train(*train, algorithm=name, passes={PASSES}, threads=1)
    chances = [list(token.values()) for tokens in test for token in model.marginals(tokens)]
    labels = [label for tokens in test for label in model.tag(tokens)]
    numbers |= {{f"{{name}} weights": model.weights, f"{{name}} probabilities": chances}}
    numbers[f"{{name}} labels"] = labels
np.savez(sys.argv[1], **numbers)
"""


def builds(pythons: list[str]) -> list[tuple[str, str]]:
    """Every environment with every variant of the core that is installed in it."""
    found = []
    for python in pythons:
        variants = subprocess.check_output([python, "-c", VARIANTS], text=True, cwd="/").split()
        found += [(python, variant) for variant in variants]
    return found


def trained(python: str, variant: str) -> dict[str, np.ndarray]:
    """The numbers of one build."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.npz"
        environment = os.environ | {"ADAPTAG_CORE": variant}
        command = [python, "-c", TRAINING, str(path)]
        subprocess.run(command, check=True, env=environment, cwd=folder)
        with np.load(path) as file:
            return dict(file)


def compared(first: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[list[str]]:
    """For each algorithm how far the numbers differ."""
    rows = []
    for name in (key.removesuffix(" weights") for key in first if key.endswith(" weights")):
        a, b = (numbers[f"{name} weights"].astype(float) for numbers in (first, other))
        weights = np.abs(a - b).max() / np.abs(a).max()
        a, b = (numbers[f"{name} probabilities"] for numbers in (first, other))
        chances = np.abs(a - b).max()
        labels = int((first[f"{name} labels"] != other[f"{name} labels"]).sum())
        rows.append([name, f"{weights:.1e}", f"{chances:.1e}", f"{labels}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    (python, variant), *others = builds(parser.parse_args().pythons)
    first = trained(python, variant)
    n_labels = len(first["adf labels"])
    head = ["Algorithm", "weights, of the largest", "probabilities", f"labels of {n_labels:,}"]
    for other in others:
        title = f"{' '.join(other)}, beside {python} {variant}"
        report.show([Table(title, head, compared(first, trained(*other)))])


if __name__ == "__main__":
    main()
