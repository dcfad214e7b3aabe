"""One target under atheris: ``python -m tests.fuzz.child TARGET [options of libFuzzer]``."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import sys
import warnings

import atheris
import numpy as np

CORE = "ADAPTAG_FUZZ_CORE"


def use_core(path):
    """Have adaptag import this build of its core."""
    name = "adaptag._native.generic"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    os.environ["ADAPTAG_CORE"] = "generic"


def main():
    name, *options = sys.argv[1:]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if CORE in os.environ:
        use_core(os.environ[CORE])
    with atheris.instrument_imports(include=["adaptag"]):
        from adaptag.errors import AdaptagError
        from tests.fuzz.targets import PYTHON

        target = PYTHON[name]
        for seed in target.seeds():  # imports what is imported late
            with contextlib.suppress(AdaptagError):
                target.run(seed)

    def run(data):
        with contextlib.suppress(AdaptagError):
            target.run(data)

    def mutate(data, size, seed):
        rng = random.Random(seed)
        changed = target.mutate(data, rng, lambda part: atheris.Mutate(part, max(2 * len(part), 8)))
        return changed if len(changed) <= size else atheris.Mutate(data, size)

    further = {} if target.mutate is None else {"custom_mutator": mutate}
    atheris.Setup([sys.argv[0], *options], run, **further)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
