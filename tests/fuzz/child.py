"""One target under atheris: ``python -m tests.fuzz.child TARGET [options of libFuzzer]``."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import sys
import sysconfig
import warnings
from pathlib import Path

import atheris
import numpy as np

CORE = "ADAPTAG_FUZZ_CORE"
SOURCES = Path(__file__).parents[2] / "src"


def use_sources(core):
    """Have adaptag imported from its sources, as atheris needs it, with this build of its core.

    The loader of an editable install would hide the sources.
    """
    sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
    sys.path.insert(0, str(SOURCES))
    installed = Path(sysconfig.get_path("platlib")) / "adaptag" / "_native"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    cpu = load_extension("cpu", installed / f"cpu{suffix}")
    paths = [installed / f"{name}{suffix}" for name in cpu.supported_variants()]
    path = Path(core) if core else next(path for path in paths if path.exists())
    name = path.name.removesuffix(suffix)
    load_extension(name, path)
    os.environ["ADAPTAG_CORE"] = name


def load_extension(name, path):
    """Import a module of the core from a file."""
    spec = importlib.util.spec_from_file_location(f"adaptag._native.{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main():
    name, *options = sys.argv[1:]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    use_sources(os.environ.get(CORE))
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
