"""What every registered training algorithm owes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adaptag
from adaptag.cli.main import app
from adaptag.errors import ParameterError
from adaptag.settings import AUTO, BOUNDS
from adaptag.training.algorithms import algorithms

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"
SENTENCES = [
    "the/D cat/N saw/V the/D old/A dog/N",
    "a/D saw/N cut/V it/P",
    "it/P cut/V the/D cat/N",
    "old/A dog/N cut/N the/D saw/N",
    "dog/N saw/V cat/N",
]

every = pytest.mark.parametrize("algorithm", algorithms().values(), ids=lambda a: a.name)
each_parameter = pytest.mark.parametrize(
    "parameter",
    [pytest.param(p, id=f"{a.name}-{p.name}") for a in algorithms().values() for p in a.parameters],
)


@pytest.fixture(scope="module")
def help_text():
    wide = {"COLUMNS": "300", "TERMINAL_WIDTH": "300", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, ["train", "--help"], env=wide)
    assert result.exit_code == 0
    return re.sub(r"[\s│]+", " ", re.sub(r"\x1b\[[0-9;]*m", "", result.output))


@every
def test_has_a_page_that_names_its_parameters(algorithm):
    page = PAGES / f"{algorithm.name}.md"
    assert page.is_file(), f"write {page.relative_to(PAGES.parents[1])}"
    text = page.read_text(encoding="utf-8")
    for parameter in algorithm.parameters:
        assert re.search(rf"\b{parameter.name}\b", text), f"{page.name}: no {parameter.name}"


@every
def test_says_what_it_is_for(algorithm):
    assert algorithm.objective
    assert algorithm.advice
    assert algorithm.passes >= 1
    assert bool(algorithm.run_state) == algorithm.online


@every
def test_learns_a_toy_corpus_by_heart(algorithm):
    data = [[tuple(token.split("/")) for token in s.split()] for s in SENTENCES] * 20
    model = adaptag.train(data, algorithm=algorithm.name, passes=10)
    assert model.evaluate(data).accuracy == 100
    assert model.provenance["algorithm"] == algorithm.name
    assert model.provenance["passes"][-1]["loss"] < model.provenance["passes"][0]["loss"]


@each_parameter
def test_parameters_have_help_and_bounds_around_their_default(parameter):
    assert parameter.help
    assert parameter.name.isidentifier()
    assert parameter.check(parameter.default) == parameter.default
    if parameter.choices:
        assert [parameter.check(choice) for choice in parameter.choices] == [*parameter.choices]
        assert [parameter.number(choice) for choice in parameter.choices] == [
            *range(len(parameter.choices))
        ]
        outsiders = ["", "no such", 0]
    else:
        automatic, whole, _, low, high, _ = BOUNDS.fullmatch(parameter.bounds).groups()
        assert float(low) < float(high)
        assert bool(whole) == parameter.integer
        assert bool(automatic) == parameter.automatic
        outsiders = [x for x in (float(low) - 1, float(high) + 1) if math.isfinite(x)]
        outsiders += [float("nan"), "no such", *([] if automatic else [AUTO])]
    for outside in outsiders:
        with pytest.raises(ParameterError, match=rf"^{parameter.name} is .*; allowed: "):
            parameter.check(outside)


@every
def test_shows_on_the_command_line(algorithm, help_text):
    listed = re.search(r"--algorithm -a \S+ (.*?) --", help_text).group(1)
    assert re.search(rf"\b{algorithm.name}\b", listed)
    for p in algorithm.parameters:
        option = re.search(rf" --{p.name} (.*?) (--|╰)", help_text)
        assert option, f"no option --{p.name}"
        shown = re.escape(f"{p.help}; {p.bounds}, default {p.shown_default}")
        users = rf"(^|[ ,]){re.escape(algorithm.name)}(, [a-z0-9-]+)*: {shown}"
        assert re.search(users, option.group(1)), option.group(1)


@every
def test_trains_from_the_command_line(algorithm, tmp_path):
    data, model = tmp_path / "train.txt", tmp_path / "model"
    data.write_text("\n\n".join(s.replace("/", "\t").replace(" ", "\n") for s in SENTENCES) + "\n")
    options = [f"--{p.name}={p.default}" for p in algorithm.parameters]
    result = CliRunner().invoke(
        app, ["train", str(data), "-m", str(model), "-a", algorithm.name, "--passes=2", *options]
    )
    assert result.exit_code == 0, result.output
    assert adaptag.Model.load(model).provenance["algorithm"] == algorithm.name
