"""The compiler checks what a training algorithm must have: a misspelt hook does not compile."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "cpp"


def compile_with(*options):
    """Check the broken algorithms with the C++ compiler."""
    names = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
    compiler = next((path for name in names if name and (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C++ compiler: the contract of algorithms is not checked")
    return subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", f"-I{CORE}", *options, "broken_algorithms.cpp"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )


def test_broken_algorithms_are_told_from_sound_ones():
    result = compile_with()
    assert result.returncode == 0, result.stderr


def test_a_misspelt_hook_does_not_compile():
    result = compile_with("-DMISSPELT")
    assert result.returncode != 0
    assert "refresh" in result.stderr
