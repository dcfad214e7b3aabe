"""Examples in docstrings, in the README and in some pages are run."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
from pathlib import Path

import pytest

import adaptag

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"\n\n```text\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = "<!-- not run -->"
NUMBER = re.compile(r"-?\d+\.\d+")
PAGES = {  # and how many outputs they show, at least
    "docs/guide/estimators.md": 6,
    "docs/guide/reproducing.md": 1,
    "docs/guide/tasks/chunking.md": 4,
    "docs/guide/tasks/entities.md": 6,
    "docs/guide/tasks/pos.md": 4,
    "docs/guide/templates.md": 4,
    "docs/guide/tutorial-crf.md": 6,
}
DEFAULT = re.compile(
    r"^ *\|.*\| `(?P<algorithm>[a-z0-9-]+) --(?P<name>\w+) (?P<value>\S+)` \|$", re.MULTILINE
)


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


def outputs(text):
    """The Python blocks of a page that can be run: line number, code and the output shown."""
    text = "\n" + text
    found = []
    for match in BLOCK.finditer(text):
        if match["before"].strip() != NOT_RUN:
            shown = SHOWN.match(text, match.end())
            line = text.count("\n", 0, match.start("code")) - 1
            found.append((line, match["code"], shown["text"] if shown else ""))
    return found


def agree(real, shown):
    """Whether an output is the one shown; rounding may move fractions a little."""
    lines = [[line.rstrip() for line in text.strip().split("\n")] for text in (real, shown)]
    same = [[NUMBER.sub("0", " ".join(line.split())) for line in one] for one in lines]
    numbers = [[float(n) for n in NUMBER.findall("\n".join(one))] for one in lines]
    return same[0] == same[1] and numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02)


def test_outputs_are_found():
    text = "```python\na\n```\n\n```text\n1\n```\n\n```python\nb\n```\n\nx\n\n```text\n2\n```\n"
    assert outputs(text) == [(1, "a\n", "1\n"), (9, "b\n", "")]


def test_outputs_agree():
    assert agree("x  0.501 y\n", "x 0.500 y")
    assert not agree("x 0.55", "x 0.50")
    assert not agree("x 0.50 3", "x 0.50 4")
    assert not agree("x 0.50", "y 0.50")
    assert not agree("x", "")


@pytest.mark.parametrize("page", PAGES)
def test_python_in_pages(page, tmp_path, monkeypatch):
    """The blocks of a page run one after the other, and print what is shown below them."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    found = outputs((ROOT / page).read_text(encoding="utf-8"))
    assert sum(bool(shown) for *_, shown in found) >= PAGES[page]
    for line, code, shown in found:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * line + code, page, "exec"), names)
        assert agree(printed.getvalue(), shown), f"{page}:{line}:\n{printed.getvalue()}"


def test_defaults_beside_those_of_other_tools():
    """The page for users of CRFsuite lists defaults as `algorithm --parameter value`."""
    rows = DEFAULT.findall((ROOT / "docs/coming-from.md").read_text(encoding="utf-8"))
    assert len(rows) >= 4
    for algorithm, name, value in rows:
        declared = {p.name: p.default for p in adaptag.algorithms()[algorithm].parameters}
        assert float(value) == declared[name], f"{algorithm} --{name}"


def test_defaults_in_the_prose_about_other_tools():
    text = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    declared = {
        (a.name, p.name): p.default for a in adaptag.algorithms().values() for p in a.parameters
    }
    rate = re.search(r"initial rate is [\d.]+, adaptag's is ([\d.]+\d)", text)
    assert float(rate[1]) == declared["sgd-l1", "rate"]
    sigma = re.search(r"adaptag's default is \$\\sigma = (\d+)\$", text)
    assert float(sigma[1]) == declared["lbfgs", "sigma"] == declared["adf", "sigma"]
    passes = re.search(r"`passes=20`; the default is (\d+)", text)
    assert int(passes[1]) == adaptag.algorithms()["adf"].passes
