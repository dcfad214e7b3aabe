"""Examples in docstrings, in the README and in some pages are run."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
import typer

import adaptag
from adaptag.cli.main import app

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?P<before>[^\n]*)\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"\n\n```text\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = "<!-- not run -->"
NUMBER = re.compile(r"-?\d+\.\d+")
PAGES = {  # and how many outputs they show, at least
    "docs/guide/classification.md": 4,
    "docs/guide/columns.md": 3,
    "docs/guide/comparing.md": 1,
    "docs/guide/constraints.md": 4,
    "docs/guide/decoding.md": 5,
    "docs/guide/estimators.md": 6,
    "docs/guide/evaluation.md": 1,
    "docs/guide/files.md": 0,
    "docs/guide/foreign-models.md": 1,
    "docs/guide/jieba.md": 5,
    "docs/guide/label-schemes.md": 2,
    "docs/guide/pictures.md": 1,
    "docs/guide/labelling-effort.md": 1,
    "docs/guide/probabilities.md": 2,
    "docs/guide/pycrfsuite.md": 2,
    "docs/guide/raw-text.md": 5,
    "docs/guide/ready-models.md": 1,
    "docs/guide/reproducing.md": 1,
    "docs/guide/segmentation.md": 4,
    "docs/guide/server.md": 1,
    "docs/guide/settings.md": 1,
    "docs/guide/small-models.md": 1,
    "docs/guide/spacy.md": 6,
    "docs/guide/streams.md": 1,
    "docs/guide/tables.md": 3,
    "docs/guide/tasks/chunking.md": 4,
    "docs/guide/tasks/entities.md": 6,
    "docs/guide/tasks/pos.md": 4,
    "docs/guide/templates.md": 4,
    "docs/guide/training.md": 3,
    "docs/guide/tuning.md": 1,
    "docs/guide/tutorial-crf.md": 6,
    "docs/index.md": 1,
}
DEFAULT = re.compile(
    r"^ *\|.*\| `(?P<algorithm>[a-z0-9-]+) --(?P<name>\w+) (?P<value>\S+)` \|$", re.MULTILINE
)


USAGE_ERROR = typer.BadParameter.__base__  # typer's own, or that of click
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(adaptag [^`\n]+)`")
DOCUMENTS = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/**/*.md")))]


def modules():
    """The modules of the package that have examples, by their source."""
    found = pkgutil.walk_packages(adaptag.__path__, "adaptag.")
    names = ["adaptag", *(m.name for m in found if "_native." not in m.name)]
    return [name for name in names if ">>>" in Path(source(name)).read_text(encoding="utf-8")]


def skip_what_is_missing(name):
    """Skip a page or a module on spaCy, or on ready models, where they are not installed."""
    if "spacy" in name:
        pytest.importorskip("spacy", reason="needs spaCy")
    if name.endswith(("jieba.md", "ready-models.md")):
        pytest.importorskip("adaptag_models", reason="needs the ready models")


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
    skip_what_is_missing(name)
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
    skip_what_is_missing(page)
    names = {"__name__": "__main__"}
    found = outputs((ROOT / page).read_text(encoding="utf-8"))
    assert sum(bool(shown) for *_, shown in found) >= PAGES[page]
    for line, code, shown in found:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * line + code, page, "exec"), names)
        assert agree(printed.getvalue(), shown), f"{page}:{line}:\n{printed.getvalue()}"


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("pretrained", "docs/index.md"),
        ("IOB1", "docs/guide/label-schemes.md"),
        ("encoding", "docs/guide/columns.md"),
    ],
)
def test_what_users_search_for_is_on_a_page(word, page):
    """The search of the site finds whole words in the text of pages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.search(rf"\b{word}s?\b", prose, re.IGNORECASE)


def test_the_readme_is_short_and_keeps_its_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    assert {"make demo", "make test"} <= {line.split("  ")[0] for line in text.splitlines()}


def test_links_to_files_of_the_repository():
    """What the README and the files beside it link to exists, also the heading."""
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
        for target in filter(None, (part for pair in targets for part in pair)):
            if re.match(r"[a-z]+:|#", target):
                continue
            path, _, anchor = target.partition("#")
            assert (ROOT / path).exists(), f"{name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text("utf-8"), re.MULTILINE)
                slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
                assert anchor in slugs, f"{name}: {target}"


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
    text = (ROOT / "docs/guide/jieba.md").read_text(encoding="utf-8")
    passes = re.search(r"`passes=20`; the default is (\d+)", text)
    assert int(passes[1]) == adaptag.algorithms()["adf"].passes


def commands(text):
    """The adaptag commands of a Markdown text, in shell blocks and in the prose, as words."""
    lines = "\n".join(SHELL.findall(text)).replace("\\\n", " ").split("\n")
    parts = [part.strip() for line in lines for part in re.split(r"[|;]|&&", line)]
    parts += [part.replace("\\|", "|").split("|")[0] for part in INLINE.findall(text)]
    found = [shlex.split(part, comments=True) for part in parts if part.startswith("adaptag ")]
    return [[word for word in words[1:] if word != "…"] for words in found]


def check_command(words):
    """Raise where a command or an option does not exist."""
    command = typer.main.get_command(app)
    if words[0] == "COMMAND":  # any of them
        return
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            raise typer.BadParameter(f"no command {words[0]}")
        command, words = command.commands[words[0]], words[1:]
    command.make_parser(typer.Context(command)).parse_args(list(words))


def test_commands_are_found():
    text = "`adaptag train -m MODEL …`\n\n```sh\nx\ncat a | adaptag tag - \\\n    -m b  # c\n```\n"
    assert commands(text) == [["tag", "-", "-m", "b"], ["train", "-m", "MODEL"]]
    check_command(["segment", "train", "x", "-m", "y"])
    for wrong in (["trian"], ["train", "x", "--pases", "3"], ["segment", "x"]):
        with pytest.raises(USAGE_ERROR):
            check_command(wrong)


@pytest.mark.parametrize("page", DOCUMENTS)
def test_commands_exist(page):
    """Every command that a page shows, and every option of it, exists."""
    for words in commands((ROOT / page).read_text(encoding="utf-8")):
        try:
            check_command(words)
        except USAGE_ERROR as error:  # noqa: PERF203
            pytest.fail(f"{page}: adaptag {' '.join(words)}: {error.format_message()}")
