"""Seeds and crashers of all targets of fuzzing, replayed with the usual core.

The targets in C++ are compiled with ASan and UBSan where the compiler has them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from adaptag.errors import AdaptagError
from tests.fuzz.building import program
from tests.fuzz.mutation import packed, resealed, unpacked
from tests.fuzz.targets import CORE, PYTHON

CRASHERS = Path(__file__).with_name("crashers")


def crashers(name):
    return sorted(path for path in (CRASHERS / name).glob("*") if path.is_file())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PYTHON)
def test_inputs_end_or_are_refused(name):
    target = PYTHON[name]
    inputs = {f"seed {k}": seed for k, seed in enumerate(target.seeds())}
    inputs |= {path.name: path.read_bytes() for path in crashers(name)}
    accepted = [label for label, data in inputs.items() if ends(target, data, f"{name}: {label}")]
    assert accepted, "every seed is refused: the target tests nothing"


def ends(target, data, label):
    """Whether an input is accepted; raise where it is not refused as it should be."""
    try:
        with np.errstate(all="ignore"):
            target.run(data)
    except AdaptagError:
        return False
    except Exception as error:
        raise AssertionError(label) from error
    return True


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    """The program of the C++ targets, compiled without libFuzzer."""
    names = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
    compiler = next((path for name in names if name and (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C++ compiler: the targets of the core are not replayed")
    return program(compiler, 2, fuzzing=False, folder=tmp_path_factory.mktemp("replay"))


@pytest.mark.xdist_group("fuzz-core")
@pytest.mark.parametrize("name", CORE)
def test_inputs_of_the_core(name, replay, tmp_path):
    paths = [tmp_path / str(k) for k in range(len(CORE[name]()))]
    for path, seed in zip(paths, CORE[name](), strict=True):
        path.write_bytes(seed)
    inputs = map(str, [*paths, *crashers(name)])
    done = subprocess.run([replay, name, *inputs], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_crasher_has_a_target():
    folders = {path.name for path in CRASHERS.glob("*")}
    assert folders <= {*PYTHON, *CORE}


def test_files_are_packed_with_valid_checksums():
    (data,) = PYTHON["dataset"].seeds()
    entries, header, arrays = unpacked(data)
    name = "labels"
    arrays[name] = arrays[name][:-4]
    again = unpacked(packed(entries, header, arrays))
    assert again[1] == header
    assert again[2] == arrays
    assert again[0][name]["shape"] == [entries[name]["shape"][0] - 1]
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    assert resealed(damaged) != damaged
    assert resealed(data) == data
