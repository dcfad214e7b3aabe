"""Reproducing: figures kept study by study, pages of them, settings chosen on training data."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import FileError
from adaptag.experiments.candidates import check_candidates
from adaptag.experiments.comparison import compare_candidates
from adaptag.experiments.problem import Part, Problem
from adaptag.experiments.results import Significance
from adaptag.experiments.significance import TTest
from adaptag.experiments.tables import Table
from adaptag.training.callbacks import Callback
from adaptag.training.initial_rate import objective
from reproduction import cli, runner
from reproduction.pages import recipe_page
from reproduction.recipes.recipe import (
    QUICK_PASSES,
    Corpora,
    Effort,
    Measurement,
    Published,
    Recipe,
    Row,
    Study,
    System,
    encoded,
)
from reproduction.runner import Figures, reproduce, tune, tuning_page
from reproduction.summary import index_page
from tests.reproduction.corpora import write_corpora
from tests.unit.test_comparison import data

CORPORA = Corpora(*(ColumnCorpus.from_sentences(data(n, n)) for n in (80, 30)))


def problem(corpora, features):
    return encoded(corpora, f"U0:%x[0,0]\n{'U1:%x[-1,0]' if features else ''}\nB\n")


def rows(**passes):
    published = Published(94.5, 94, 95, 17, 282.0)
    return tuple(
        Row(name, {"passes": n}, published if name == "adf" else Published())
        for name, n in passes.items()
    )


MAIN = Study("algorithms", "Methods", "table 4", rows(adf=6, sgd=6, lbfgs=9), seeds=2)
MORE = Study(
    "l1",
    "Small models",
    "table 1",
    (
        Row(
            "cumulative=sgd-l1", {"rate": 0.5, "passes": 4}, Published(90, weights=7, objective=1.5)
        ),
    ),
    charts=(("objective", ()), ("active", ())),
    column=("A table", "Task"),
    whole_objective=True,
)
COUNTED = Measurement(
    "counts",
    "Counts",
    "table 2",
    lambda corpora, *_: [Table(["What", "n"], [["sentences", str(len(corpora.train))]])],
)
TASK = Recipe(
    "task",
    "A task",
    "Small data.",
    lambda _: CORPORA,
    problem,
    (MAIN, MORE, COUNTED),
    (System("Others (2001)", "SVM", 88.8),),
)


def run(folder, recipe=TASK, **named):
    return reproduce(recipe, folder, folder, Effort(named.pop("quick", False)), **named)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    assert run(folder)
    return Figures.load(folder, "task")


def test_all_studies_are_measured(figures):
    assert list(figures.studies) == ["algorithms", "l1", "counts"]
    main = figures.comparison("algorithms")
    assert [len(entry.runs) for entry in main.entries] == [2, 2, 1]
    assert [entry.passes for entry in main.entries][:2] == [6, 6]
    assert figures.comparison("counts") is None
    assert figures.tables("counts")[0].rows == [["sentences", "80"]]


def test_whole_objective(figures):
    """The objective of all data with its penalty, at the weights of the last pass."""
    entry = figures.comparison("l1").entries[0]
    part = problem(CORPORA, "").parts[0]
    kept = []

    def counts(weights):
        kept.append(weights.copy())
        return part.counts(weights)

    watched = Problem((Part(part.train, counts),), "F", *[figures.comparison("l1").train] * 2)
    chosen = check_candidates(["x=sgd-l1"], {"x": {"rate": 0.5, "passes": 4}}, None)
    compare_candidates([(chosen[0], watched)])
    expected = objective(part.train, kept[-1], {"l1": 1.0}) / len(part.train)
    assert entry.runs[0].objective[-1] == pytest.approx(expected)


def test_parts_count_together():
    """The score of several parts is that of all their test sentences."""
    one, two = (problem(CORPORA, features).parts[0] for features in ("", "more"))
    size = problem(CORPORA, "").train
    (chosen,) = check_candidates(["adf"], {}, 3)
    together = compare_candidates([(chosen, Problem((one, two), "F", size, size))])
    alone = [
        compare_candidates([(chosen, Problem((part,), "F", size, size))]) for part in (one, two)
    ]
    runs = [c.entries[0].runs[0] for c in (together, *alone)]
    low, high = sorted(run.scores[-1] for run in runs[1:])
    assert low <= runs[0].scores[-1] <= high
    assert runs[0].objective[-1] == pytest.approx(np.mean([run.objective[-1] for run in runs[1:]]))


def test_quick_is_little_work(tmp_path):
    assert run(tmp_path, quick=True)
    main = Figures.load(tmp_path, "task").comparison("algorithms")
    assert {entry.passes for entry in main.entries} == {QUICK_PASSES}
    assert main.seeds == (1,)


def test_going_on(tmp_path, monkeypatch):
    """What has figures is left out, and corpora are not read where nothing is missing."""
    assert run(tmp_path, replace(TASK, studies=(MAIN,)))
    before = Figures.load(tmp_path, "task").studies["algorithms"]
    asked = []
    assert run(tmp_path, resume=True, on_run=lambda *name: asked.append(name[0]))
    assert asked == ["cumulative"]
    assert Figures.load(tmp_path, "task").studies["algorithms"] == before
    monkeypatch.setattr(runner, "compare_candidates", None)
    assert run(tmp_path, replace(TASK, read=None), resume=True)


def test_other_settings_are_measured_again(tmp_path):
    assert run(tmp_path, replace(TASK, studies=(MAIN, COUNTED)))
    asked = []
    changed = replace(MAIN, rows=rows(adf=6, sgd=5, lbfgs=9))
    recipe = replace(TASK, studies=(changed, COUNTED))
    assert run(tmp_path, recipe, resume=True, on_run=lambda *name: asked.append(name[0]))
    assert asked == ["adf", "adf", "sgd", "sgd", "lbfgs"]
    assert Figures.load(tmp_path, "task").comparison("algorithms").entries[1].passes == 5


def test_figures_of_a_quick_run_are_no_figures(tmp_path):
    assert run(tmp_path, quick=True)
    asked = []
    assert run(tmp_path, resume=True, on_run=lambda *name: asked.append(name[0]))
    assert len(asked) == 6
    assert not Figures.load(tmp_path, "task").quick


class Interrupt(Callback):
    """Ctrl-C in a training."""

    def __init__(self, at):
        self.left = at

    def on_start(self, *_):
        self.left -= 1

    def on_progress(self, _):
        if not self.left:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_what_was_finished(tmp_path):
    assert not run(tmp_path, callbacks=[Interrupt(6)])
    assert list(Figures.load(tmp_path, "task").studies) == ["algorithms"]


def test_a_file_of_something_else(tmp_path):
    path = tmp_path / "figures" / "task.json"
    path.parent.mkdir()
    path.write_text("[]")
    with pytest.raises(FileError, match=r"task\.json: no figures"):
        Figures.load(tmp_path, "task")


def test_a_page(figures):
    page = recipe_page(TASK, figures)
    assert "| adf | " in page.text
    assert "94.50" in page.text
    assert "282" in page.text
    assert "| sentences | 80 |" in page.text
    assert page.text.count("](pictures/task-") == len(page.pictures) == 3
    assert all(svg.startswith("<svg") for svg in page.pictures.values())
    score = figures.comparison("algorithms").entries[0].at_end("scores").value
    assert f"| Others (2001) | SVM | 88.8 |\n| adaptag | CRF, ADF | {score:.1f} |" in page.text
    small = page.text[page.text.index("## Small models") :]
    assert "| Non-zero weights | Objective |" in small
    assert " (7) |" in small
    assert " (1.500) |" in small
    assert "Speed-up per pass" not in small  # a column without figures


def test_a_page_links_the_evidence(figures):
    evidence = figures.folder / "tuning-task.md"
    evidence.write_text("# Settings")
    assert "](tuning-task.md)" in recipe_page(TASK, figures).text
    evidence.unlink()
    assert "tuning-task" not in recipe_page(TASK, figures).text


def test_charts_side_by_side(figures):
    """One picture with room for both, in the same units, and names that do not meet."""
    name = "{http://www.w3.org/2000/svg}svg"
    for svg in recipe_page(TASK, figures).pictures.values():
        whole = ET.fromstring(svg)
        left, right = whole.findall(name)
        width, height = (float(right.get(side)) for side in ("width", "height"))
        assert left.get("x") == "0"
        assert float(right.get("x")) == float(left.get("width"))
        assert whole.get("viewBox") == f"0 0 {2 * width:g} {height:g}"
        one, two = ({e.get("id") for e in part.iter() if "path" in e.tag} for part in (left, right))
        assert not (one & two) - {None}


def test_the_summary(figures):
    text = index_page([TASK], {"task": figures})
    main = figures.comparison("algorithms")
    for entry in main.entries:
        assert f"{entry.at_end('scores').value:.2f}" in text
    small = figures.comparison("l1").entries[0].at_end("scores").value
    assert (
        f"## A table\n\n| Algorithm | Task |\n| --- | ---: |\n| cumulative | {small:.2f} (90.00) |"
        in text
    )
    assert "quick" not in text
    assert "[A task](task.md): table 4; table 1; table 2" in text
    quick = index_page([TASK], {"task": replace(figures, quick=True)})
    assert "its figures are not results" in quick


@pytest.mark.parametrize(
    ("scores", "claim"),
    [
        (
            {"adf": 95, "sgd": 90, "lbfgs": 91},
            "confirmed. ADF has the highest score; ADF is significantly better than SGD",
        ),
        ({"adf": 90, "sgd": 95, "lbfgs": 91}, "contradicted. SGD has the highest score"),
    ],
)
def test_claims(figures, scores, claim):
    """What the summary says follows from scores and tests."""
    main = figures.comparison("algorithms")
    entries = []
    for entry in main.entries:
        n = entry.passes
        run = replace(entry.runs[0], scores=(float(scores[entry.name]),) * n)
        entries.append(replace(entry, runs=(run,)))
    sure = TTest(9.0, 19, 0.001)
    tests = tuple(
        Significance(name, "adf", float(scores[name] - scores["adf"]), sure, 0.001, None)
        for name in ("sgd", "lbfgs")
    )
    changed = replace(main, entries=tuple(entries), significance=tests)
    studies = {"algorithms": {"comparison": changed.to_dict(), "seconds": 1}}
    text = index_page([TASK], {"task": replace(figures, studies=studies)})
    assert claim in text


def test_settings_are_chosen_on_training_data(tmp_path):
    grid = {"rate": (0.0001, 0.1)}
    study = Study("one", "One", "none", (Row("adf", {"rate": 1, "passes": 2}, grid=grid),))

    def no_test(_):
        return Corpora(CORPORA.train, None)

    recipe = replace(TASK, read=no_test, studies=(study,))
    (choice,) = tune(recipe, tmp_path)
    assert [settings["rate"] for settings, _ in choice.tried] == [0.1, 0.0001]
    assert choice.tried[0][1] > choice.tried[1][1]
    page = tuning_page(recipe, [choice])
    assert "## One: adf" in page
    assert page.index("rate 0.1 ") < page.index("rate 0.0001 ")


def test_only_online_algorithms_make_fewer_passes_when_settings_are_chosen():
    """A batch algorithm is compared where it converged."""
    passes = {"passes": 500}
    found = [runner._tuned(Row(name, passes), {})["passes"] for name in ("adf", "a=lbfgs", "owlqn")]
    assert found == [runner.MOST_PASSES, 500, 500]


# ---- the command -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def program(command_line):
    """Run ``python -m reproduction``."""
    return partial(command_line, cli.run)


def test_the_command(program, corpora, tmp_path):
    done = program("base-np", "--quick", "--data", corpora)
    assert done.code == 0, done.err
    folder = tmp_path / "docs" / "results" / "quick"
    assert {path.name for path in folder.iterdir()} == {
        "base-np.md",
        "figures",
        "index.md",
        "pictures",
    }
    assert json.loads((folder / "figures" / "base-np.json").read_text())["quick"]
    assert "base-np: 1/6  adf, seed 1:" in done.err
    (folder / "index.md").unlink()
    again = program("base-np", "--quick", "--resume", "--data", corpora)
    assert "adf" not in again.err
    assert (folder / "index.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown task 'nothing'"),
        (["base-np", "--data", "."], "conll2000/train.txt: the corpus is missing"),
        (["base-np", "--data", "nowhere"], "nowhere: no folder of corpora"),
    ],
)
def test_errors(program, arguments, message):
    done = program(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_corpora_that_are_not_there_are_left_out(program, tmp_path):
    """Unless a recipe is named, it is enough to have some of the corpora."""
    (tmp_path / "data").mkdir()
    done = program("--quick", "--data", "data")
    assert done.code == 0
    assert "base-np: skipped: " in done.err
