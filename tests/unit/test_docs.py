"""Examples in docstrings and in the README are run."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import adaptag

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = "<!-- not run -->"


def modules():
    """The modules of the package that have examples, by their source."""
    found = pkgutil.walk_packages(adaptag.__path__, "adaptag.")
    names = ["adaptag", *(m.name for m in found if "_native." not in m.name)]
    return [name for name in names if ">>>" in Path(source(name)).read_text(encoding="utf-8")]


def source(name):
    return importlib.util.find_spec(name).origin


def blocks(text):
    """The Python blocks of a Markdown text that can be run: line number and code."""
    return [
        (text.count("\n", 0, match.start("code")), match["code"])
        for match in BLOCK.finditer("\n" + text)
        if match["before"].strip() != NOT_RUN
    ]


def test_there_are_examples():
    assert "adaptag.api" in modules()


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(name), verbose=False)
    assert failed == 0
    assert tried > 0


def test_blocks_are_found():
    text = "x\n\n```python\na = 1\n```\n```sh\nls\n```\n<!-- not run -->\n```python\nb\n```\n"
    text += "```python\nc = 2\n```\n"
    assert [code for _, code in blocks(text)] == ["a = 1\n", "c = 2\n"]


@pytest.mark.parametrize(("line", "code"), blocks((ROOT / "README.md").read_text(encoding="utf-8")))
def test_python_in_the_readme(line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * line + code, "README.md", "exec"), {"__name__": "__main__"})
