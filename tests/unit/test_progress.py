"""The progress of trainings: on a terminal, in a notebook, and in plain lines."""

import html
import io
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

import adaptag
from adaptag.experiments.comparison import compare
from adaptag.experiments.progress import RunProgress
from adaptag.experiments.tuning import tune
from adaptag.rendering import progress as displays
from adaptag.rendering.progress import (
    NotebookDisplay,
    PlainDisplay,
    TerminalDisplay,
    in_notebook,
    open_display,
)
from adaptag.training.callbacks import Callback, PassReport
from adaptag.training.progress import TrainingProgress

DATA = [[("Ada", "B-PER"), ("saw", "O"), ("Rome", "B-LOC")], [("Rome", "B-LOC")]] * 10
SENTENCES = [[word for word, _ in sentence] for sentence in DATA]
LABELS = [[label for _, label in sentence] for sentence in DATA]


class Recorded:
    """A display that records what is shown."""

    def __init__(self):
        self.events = []

    def write(self, line):
        self.events.append(line)

    def update(self, share, text):
        self.events.append((round(share, 3), text))

    def close(self):
        self.events.append("closed")


def lines_of(text):
    """The lines without times."""
    return [re.sub(r"[\d.]+ s", "_ s", line) for line in text.splitlines()]


@pytest.fixture
def notebook(monkeypatch):
    """A process that seems to be the kernel of a notebook: its outputs, each as it is now."""
    outputs = []

    class Handle:
        def __init__(self, content):
            self.states = [content]

        def update(self, content, *, raw):
            assert raw
            self.states.append(content)

    def display(content, *, raw, display_id):
        assert raw
        assert display_id is True
        outputs.append(Handle(content))
        return outputs[-1]

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(displays, "INTERVAL", 0.0)
    return outputs


@pytest.fixture
def terminal(monkeypatch):
    """What is written to standard error, which seems to be a terminal."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(displays, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **_: Console(file=stream, force_terminal=True, width=100),
    )
    return stream


def test_the_lines_of_a_training():
    display = Recorded()
    shown = TrainingProgress(display)
    shown.on_note("a note")
    shown.on_start(2, 10)
    shown.on_progress(10)
    first = PassReport(1, 0.5, 1.25, 50.0, 60.0, "F1")
    second = PassReport(2, 0.25, 1.0, 55.0, 58.0, "F1")
    shown.on_pass([first])
    shown.on_progress(10)
    shown.on_pass([first, second])
    shown.on_end(first)
    assert display.events == [
        "a note",
        (0.0, "pass 1/2"),
        (0.5, "pass 1/2"),
        "pass   1    0.500 s  loss   1.2500  accuracy 50.00  dev F1 60.00",
        (0.5, "pass 2/2"),
        (1.0, "pass 2/2"),
        "pass   2    0.250 s  loss   1.0000  accuracy 55.00  dev F1 58.00",
        (1.0, "pass 2/2"),
        "closed",
        "best dev F1 60.00, in pass 1",
    ]


class End(Callback):
    best = "not called"

    def on_end(self, best):
        self.best = best


@pytest.mark.parametrize("algorithm", ["adf", "lbfgs"])
def test_callbacks_are_told_the_best_pass(algorithm):
    end = End()
    model = adaptag.train(DATA, dev=DATA, passes=3, algorithm=algorithm, callbacks=[end])
    assert end.best.number == model.provenance["best_pass"]
    assert end.best.dev_score == 100.0


def test_callbacks_are_told_that_training_failed():
    class Broken(Callback):
        def on_pass(self, history):  # noqa: ARG002
            raise RuntimeError("broken")

    end = End()
    with pytest.raises(RuntimeError, match="broken"):
        adaptag.train(DATA, passes=3, callbacks=[Broken(), end])
    assert end.best is None


def test_plain_lines(capsys):
    adaptag.train(DATA, dev=DATA, passes=2, rate=0.1, verbose=True)
    assert not isinstance(open_display("training"), (NotebookDisplay, TerminalDisplay))
    lines = lines_of(capsys.readouterr().err)
    assert [line.split()[0] for line in lines] == ["pass", "pass", "best"]


@pytest.mark.parametrize("error", [False, True])
def test_terminal(terminal, error):
    class Stop(Callback):
        def on_pass(self, history):
            if error and len(history) == 2:
                raise ZeroDivisionError
            return False

    def train():
        adaptag.train(DATA, dev=DATA, passes=2, rate=0.1, verbose=True, callbacks=[Stop()])

    if error:
        with pytest.raises(ZeroDivisionError):
            train()
    else:
        train()
    text = terminal.getvalue()
    assert "training" in text
    assert "━" in text
    assert text.endswith("\x1b[2K" if error else ", in pass 1\n")  # the bar is erased
    kept = re.findall(r"^\W*(?:\x1b\[\w+)*.*?(pass +\d .*dev F1.*)$", text, re.MULTILINE)
    assert len(kept) == (1 if error else 2)


def test_a_bar_that_begins_again_and_a_title(terminal):
    display = TerminalDisplay("work")
    display.update(0.9, "first")
    display.update(0.1, "second")
    display.write("a [bold]line[/]")
    assert display.bar.tasks[0].completed == 0.1
    display.close()
    display.close()
    display.write("after")
    text = terminal.getvalue()
    assert "a [bold]line[/]" in text
    assert text.endswith("after\n")


def test_processes_of_other_ones_draw_no_bars(terminal, monkeypatch):
    import multiprocessing.process

    assert isinstance(open_display("x"), TerminalDisplay)
    monkeypatch.setattr(multiprocessing.process, "parent_process", object)
    assert isinstance(open_display("x"), PlainDisplay)
    assert isinstance(open_display("x", alone=True), TerminalDisplay)
    assert isinstance(open_display("x", alone=False), PlainDisplay)
    assert terminal.getvalue() == ""


def test_notebook(notebook, capsys):
    assert in_notebook()
    adaptag.train(DATA, dev=DATA, passes=3, patience=9, rate=0.1, verbose=True)
    assert capsys.readouterr() == ("", "")
    (output,) = notebook
    assert any('<progress max="1" value="0.333"' in s["text/html"] for s in output.states)
    assert any("training  pass 2/3" in s["text/html"] for s in output.states)
    last = output.states[-1]
    assert "<progress" not in last["text/html"]
    lines = last["text/plain"].splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["pass", str(n)] for n in (1, 2, 3)]
    assert lines[-1].startswith("best dev F1 100.00, in pass ")
    assert html.unescape(re.sub("<.*?>", "", last["text/html"])) == last["text/plain"]


def test_notebook_of_an_estimator_a_segmenter_and_a_classifier(notebook):
    adaptag.CRF(passes=2, verbose=True).fit(
        [[{"word": w} for w in sentence] for sentence in SENTENCES], LABELS
    )
    adaptag.Segmenter.train([["ab", "c"], ["c", "ab"]] * 5, passes=2, verbose=True)
    adaptag.DocumentClassifier.train(["good film", "bad film"] * 5, ["p", "n"] * 5, passes=2,
                                     verbose=True)  # fmt: skip
    counts = [o.states[-1]["text/plain"].count("pass ") for o in notebook]
    assert counts == [2, 2, 2]


def test_a_notebook_is_not_updated_too_often(notebook, monkeypatch):
    monkeypatch.setattr(displays, "INTERVAL", 1000.0)
    display = NotebookDisplay("work")
    display.write("<first>")
    for n in range(50):
        display.update(n / 50, "text")
        display.write(f"line {n}")
    display.close()
    (output,) = notebook
    assert len(output.states) == 2
    assert output.states[0]["text/html"] == '<pre style="margin: 0">&lt;first&gt;</pre>'
    assert output.states[1]["text/plain"].splitlines() == ["<first>"] + [
        f"line {n}" for n in range(50)
    ]


def test_time_left_in_a_notebook(notebook, monkeypatch):
    clock = iter([100.0, 100.0, 110.0])
    monkeypatch.setattr(displays, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    display = NotebookDisplay("work")
    display.update(0.0, "a")
    display.update(0.25, "b")
    assert "b, 30 s left" in notebook[0].states[-1]["text/html"]


def test_the_label_scheme_that_was_chosen_is_told(notebook):
    adaptag.train(DATA, passes=2, scheme="auto", verbose=True)
    notes, training = notebook
    assert "label scheme: " in notes.states[-1]["text/plain"]
    assert training.states[-1]["text/plain"].count("pass ") == 2


def test_comparison(notebook):
    begun = []
    compare(
        DATA,
        DATA,
        algorithms=["adf", "lbfgs"],
        passes=2,
        seeds=(1, 2),
        verbose=True,
        on_run=lambda *run: begun.append(run),
    )
    assert len(begun) == 3
    (output,) = notebook
    heads = [line.split(":")[0] for line in output.states[-1]["text/plain"].splitlines()]
    assert heads == ["1/3  adf, seed 1", "2/3  adf, seed 2", "3/3  lbfgs"]
    assert "<progress" not in output.states[-1]["text/html"]


def test_runs_made_elsewhere(capsys):
    with RunProgress("task: ") as shown:
        shown.on_result("adf", 1, 2, 3, SimpleNamespace(scores=(50.0, 60.0)))
    assert capsys.readouterr().err == "task: 2/3  adf, seed 1: test score 60.00 after 2 passes\n"


def test_search(notebook):
    tune(DATA, space={"rate": [0.01, 0.1, 0.5], "sigma": [5]}, passes=6, folds=2, jobs=1,
         finalists=1, verbose=True)  # fmt: skip
    (output,) = notebook
    lines = output.states[-1]["text/plain"].splitlines()
    assert lines[0] == "round 1/2: 3 trials, 3 passes, 6 jobs"
    assert re.fullmatch(r"round 2/2: 2 trials, 6 passes, 4 jobs  best so far [\d.]+", lines[1])
    assert any("round 2/2, job 3/4" in s["text/html"] for s in output.states)


def test_nothing_is_imported_before_it_is_needed():
    code = (
        "import sys, adaptag; adaptag.train([[('a', 'X')]] * 3, passes=1, verbose=True); "
        "print(sorted({'rich', 'IPython'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
