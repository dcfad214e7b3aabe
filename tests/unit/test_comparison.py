"""Comparing algorithms: the same order for all, curves, the paper's rule, reports."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from itertools import groupby

import numpy as np
import pytest

import adaptag
from adaptag.errors import AdaptagError, ParameterError
from adaptag.experiments.charts import Series, bar_chart, line_chart
from adaptag.experiments.comparison import compare
from adaptag.experiments.report import html_report, lowest_score, markdown_report
from adaptag.experiments.results import Comparison, Data, Entry, Run
from adaptag.experiments.runs import active_weights
from adaptag.training.callbacks import Callback
from adaptag.training.online import Trainer

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB"
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
VOID = {"meta", "br", "hr", "img", "link", "input"}


def data(n, seed, noise=0.15):
    """Sentences of chunks that a token's first letter mostly tells."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        labels = rng.choice(["O", "B-X", "B-Y"], rng.integers(2, 9))
        letters = [
            rng.choice(list("oxy")) if rng.random() < noise else label[-1].lower()
            for label in labels
        ]
        found.append(
            [
                (f"{c}{rng.integers(9)}", str(label))
                for c, label in zip(letters, labels, strict=True)
            ]
        )
    return found


TRAIN, TEST = data(60, 1), data(40, 2)


def run(**named):
    given = {"algorithms": ["adf", "sgd", "lbfgs"], "passes": 4, "seeds": [1, 2]} | named
    return compare(TRAIN, TEST, template=TEMPLATE, **given)


@pytest.fixture(scope="module")
def comparison():
    return run()


# ---- running -----------------------------------------------------------------------------------


def test_all_see_the_same_order(monkeypatch):
    orders = {}
    real = Trainer.run

    def noted(self, order):
        orders.setdefault(current[-1], []).append(np.array(order))
        return real(self, order)

    current = []
    monkeypatch.setattr(Trainer, "run", noted)
    run(
        algorithms=["adf", "sgd", "averaged-perceptron"],
        on_run=lambda name, seed, *_: current.append((name, seed)),
    )
    seen = {key: np.concatenate(parts) for key, parts in orders.items()}
    assert len(seen) == 6
    for seed in (1, 2):
        first = seen["adf", seed]
        assert len(first) == 4 * len(TRAIN)
        assert (seen["sgd", seed] == first).all()
        assert (seen["averaged-perceptron", seed] == first).all()
    assert (seen["adf", 1] != seen["adf", 2]).any()


def test_curves_have_one_value_a_pass(comparison):
    assert [entry.name for entry in comparison.entries] == ["adf", "sgd", "lbfgs"]
    assert [len(entry.runs) for entry in comparison.entries] == [2, 2, 1]
    for entry in comparison.entries:
        assert entry.passes == 4
        for one in entry.runs:
            for curve in (one.scores, one.seconds, one.objective, one.active):
                assert len(curve) == 4
            assert all(np.diff(one.seconds) > 0)
            assert one.seconds[0] > 0
    assert comparison.train == Data("Python data", 60, sum(map(len, TRAIN)))
    assert comparison.metric == "chunk F1"


def test_scores_are_those_of_training_alone(comparison):
    for entry in comparison.entries:
        model = adaptag.train(TRAIN, template=TEMPLATE, algorithm=entry.algorithm, passes=4, seed=2)
        expected = model.evaluate(TEST).score
        assert entry.runs[-1].scores[-1] == pytest.approx(expected)
        assert entry.runs[-1].active[-1] == active_weights(model.weights)


def test_the_objective_falls(comparison):
    assert all(np.diff(comparison.entries[2].runs[0].objective) < 0)


def test_scoring_is_not_timed(monkeypatch):
    clock, tag, lost = time.perf_counter, adaptag.Model.tag_encoded, []

    def slow(*given):
        lost.append(1000)  # seconds that scoring seems to take
        return tag(*given)

    monkeypatch.setattr(adaptag.Model, "tag_encoded", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + sum(lost))
    found = run(algorithms=["adf", "lbfgs"], seeds=[1])
    assert len(lost) == 8
    assert all(0 < entry.at_end("seconds").value < 1000 for entry in found.entries)


def test_calibration_is_timed(monkeypatch):
    clock, lost = time.perf_counter, []

    def slow(*_):
        lost.append(1000)
        return 0.1

    monkeypatch.setattr("adaptag.training.engine.find_rate", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + sum(lost))
    found = run(algorithms=["sgd"], seeds=[1], parameters={"sgd": {"rate": "auto"}})
    assert 1000 < found.entries[0].runs[0].seconds[0] < 2000


def test_settings_and_names():
    found = run(
        algorithms=["adf", "slow=sgd", "sgd"],
        parameters={"slow": {"rate": 0.001, "passes": 2}, "sgd": {"rate": "auto"}},
    )
    adf, slow, sgd = found.entries
    assert (slow.algorithm, slow.parameters["rate"], slow.passes) == ("sgd", 0.001, 2)
    assert adf.passes == sgd.passes == 4
    assert sgd.parameters["rate"] == "auto"
    assert sgd.runs[0].calibrated["rate"] > 0
    assert "rate auto (" in found.settings_table().rows[2][2]
    assert [v.name for v in found.significance] == ["slow", "sgd"]
    assert found.significance[0].difference < 0


def test_tests_of_the_same_algorithm_find_nothing():
    (test,) = run(algorithms=["adf", "again=adf"]).significance
    assert (test.difference, test.blocks, test.randomisation) == (0, None, 1)
    assert test.seeds is None


def test_token_accuracy():
    plain = [[(token, {"O": "A", "B-X": "N", "B-Y": "V"}[y]) for token, y in s] for s in TRAIN]
    found = compare(plain, plain, template=TEMPLATE, algorithms=["adf"], passes=2)
    model = adaptag.train(plain, template=TEMPLATE, passes=2)
    assert found.metric == "token accuracy"
    assert found.entries[0].runs[0].scores[-1] == pytest.approx(model.evaluate(plain).accuracy)


class Interrupt(Callback):
    """Ctrl-C in a pass of the n-th training."""

    def __init__(self, at):
        self.left = at

    def on_start(self, *_):
        self.left -= 1

    def on_pass(self, history):
        if self.left == 0 and len(history) == 2:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize(("at", "finished"), [(1, []), (2, []), (3, ["adf"]), (5, ["adf", "sgd"])])
def test_ctrl_c_keeps_what_was_finished(at, finished):
    found = run(callbacks=[Interrupt(at)])
    names = ["adf", "sgd", "lbfgs"]
    assert [entry.name for entry in found.entries] == finished
    assert list(found.unfinished) == names[len(finished) :]
    if finished:
        assert "left out: " + ", ".join(found.unfinished) in html_report(found)
        assert "left out: " in markdown_report(found)


def test_ctrl_c_while_a_rate_is_found(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("adaptag.training.engine.find_rate", interrupted)
    found = run(parameters={"adf": {"rate": 0.1}, "sgd": {"rate": "auto"}})
    assert [entry.name for entry in found.entries] == ["adf"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithms": ["adf", "sdg"]}, "did you mean 'sgd'"),
        ({"algorithms": ["adf", "adf"]}, "'adf' is given twice"),
        ({"algorithms": []}, "no algorithm is given"),
        ({"algorithms": ["1=adf"]}, "a letter, then"),
        ({"algorithms": ["x="]}, "unknown algorithm ''"),
        ({"parameters": {"pa": {}}}, "settings of unknown algorithm 'pa'"),
        ({"parameters": {"adf": {"rat": 1}}}, "adf: unknown parameter 'rat'"),
        ({"parameters": {"adf": {"rate": -1}}}, "rate is -1"),
        ({"parameters": {"adf": {"passes": 1.5}}}, "adf: passes is 1.5"),
        ({"parameters": {"adf": {"passes": "x"}}}, "adf: passes is 'x'"),
        ({"passes": 0}, "passes is 0"),
        ({"seeds": []}, "seeds are"),
        ({"seeds": [1, 1]}, "seeds are"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        run(**given)


def test_encoded_training_data(tmp_path):
    dataset = adaptag.encode(TRAIN, template=TEMPLATE, cutoff=2)
    dataset.save(tmp_path / "data")
    call = {"algorithms": ["adf"], "passes": 2}
    expected = compare(TRAIN, TEST, template=TEMPLATE, cutoff=2, **call)
    for data in (dataset, tmp_path / "data"):
        found = compare(data, TEST, **call)
        assert found.entries[0].runs[0].scores == expected.entries[0].runs[0].scores
        assert found.feature_settings["cutoff"] == 2
    with pytest.raises(ParameterError, match="labels and features already"):
        compare(dataset, TEST, cutoff=2, **call)


def test_metric_and_legal_are_those_of_training():
    call = {"template": TEMPLATE, "passes": 3, "legal": "seen", "metric": "accuracy"}
    # No label follows itself in the training data.
    train = [[next(run) for _, run in groupby(s, lambda pair: pair[1])] for s in TRAIN]
    found = compare(train, TEST, algorithms=["adf"], **call)
    model = adaptag.train(train, dev=TEST, **call)
    assert found.metric == "token accuracy"
    scores = [report["dev_score"] for report in model.provenance["passes"]]
    assert found.entries[0].runs[0].scores == pytest.approx(scores)
    plain = compare(train, TEST, algorithms=["adf"], **call | {"legal": None})
    assert plain.entries[0].runs[0].objective != found.entries[0].runs[0].objective


def test_sentences_whose_labels_are_not_known_do_not_count():
    tokens = [[token for token, _ in sentence] for sentence in TEST]
    labels = [[label for _, label in sentence] for sentence in TEST]
    labels[3] = [None, *labels[3][1:]]
    call = {"template": TEMPLATE, "algorithms": ["adf"], "passes": 2}
    found = compare(TRAIN, (tokens, labels), **call)
    expected = compare(TRAIN, TEST[:3] + TEST[4:], **call)
    assert found.entries[0].runs[0].scores == expected.entries[0].runs[0].scores


def test_encoded_test_data_is_refused():
    with pytest.raises(AdaptagError, match="not an encoded dataset"):
        compare(TRAIN, adaptag.encode(TEST))


# ---- results -----------------------------------------------------------------------------------


def scripted(*scores):
    n = len(scores)
    return Run(1, scores, tuple(range(1, n + 1)), (1.0,) * n, (5,) * n)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([90, 91, 92, 92, 92, 92, 92, 92], 7),
        ([90, 92, 92.009, 92.005, 92.001, 92.004, 80], 6),
        ([90, 92, 92.011, 92.005, 92.001, 92.004], None),
        ([92, 92, 92, 92], None),
    ],
)
def test_the_papers_rule(scores, expected):
    assert scripted(*scores).converged == expected


def test_means_over_seeds():
    a, b = scripted(90, 91, 91, 91, 91, 91), scripted(92, 93, 94, 95, 96, 97)
    entry = Entry("x", "adf", True, {}, 9, (a, b))
    assert entry.curve("scores")[0] == (91, pytest.approx(np.std([90, 92], ddof=1)))
    assert entry.at_end("scores").value == 94
    assert [mean.value for mean in entry.converged()] == [6, 91, 6]
    assert entry.to_dict()["summary"]["converged_runs"] == 1


def test_dust_is_not_active():
    weights = np.array([2, -1, 1e-3, 1e-6, -1e-7, 0], np.float32)
    assert active_weights(weights) == 3
    assert active_weights(np.zeros(4, np.float32)) == 0


def test_json_and_back(comparison):
    text = json.dumps(comparison.to_dict(), allow_nan=False)
    assert Comparison.from_dict(json.loads(text)) == comparison
    assert run(algorithms=["owlqn"], seeds=[1]).entries[0].parameters["sigma"] == "inf"


def test_the_best_values_are_bold(comparison):
    table = comparison.table()
    scores = [entry.at_end("scores").value for entry in comparison.entries]
    assert (int(np.argmax(scores)), 6) in table.best
    assert not any(column in (0, 5, 7, 8, 9) for _, column in table.best)
    lines = table.markdown().splitlines()
    assert len(lines) == 5
    assert lines[1].count("---:") == len(table.head) - 1
    assert "**" in "".join(lines)


# ---- reports -----------------------------------------------------------------------------------


class Checker(HTMLParser):
    """Notes tags, text and attributes, and that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.text = [], [], [], ""
        self.links = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.links += [v for k, v in attrs if k.endswith("href") or k == "src"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_stands_alone(comparison):
    text = html_report(comparison, "adaptag compare a b")
    page = Checker(text)
    assert "script" not in page.tags
    assert page.tags.count("svg") == 4
    assert len(set(page.ids)) == len(page.ids)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert {r[1:] for r in re.findall(r"url\((#[^)]*)\)", text)} <= set(page.ids)
    assert set(re.findall(r"https?://[^\"'\s<]*", text)) <= NAMESPACES
    assert "adaptag compare a b" in page.text
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)
    for label in ("passes", "seconds of training", "mean loss per sentence"):
        assert f"<!-- {label}" in text


def test_hostile_names_are_escaped(comparison):
    name = '<script>alert("1")</script>&|`*.txt'
    hostile = replace(comparison, test=Data(name, 1, 1))
    page = Checker(html_report(hostile, f"adaptag compare '{name}'"))
    assert "script" not in page.tags
    assert name in page.text
    markdown = markdown_report(hostile, f"adaptag compare '```{name}'")
    before, _ = markdown.split("## Command")
    assert "<script>" not in before.replace("\\<", "")
    assert "\n````sh\n" in markdown


def test_markdown_has_all_parts(comparison):
    text = markdown_report(comparison, "adaptag compare a b")
    for part in (
        "# adf, sgd, lbfgs on",
        "## Significance",
        "## Settings",
        "Machine: ",
        "\n```sh\n",
    ):
        assert part in text


def test_one_algorithm_and_one_pass():
    found = run(algorithms=["adf"], passes=1, seeds=[7])
    Checker(html_report(found))
    assert found.significance == ()
    assert "Seed 7" in markdown_report(found)
    assert found.table().best == frozenset()


def test_the_axis_of_scores_leaves_out_only_what_lies_far_below():
    assert lowest_score([[92.6, 93.4, 93.6], [93.2, 93.8, 93.9]]) is None
    early = [[20, 60, 85, 91, 92.9, 93, 93.1, 93.2], [93.2, 93.8, 93.9, 93.9]]
    low = lowest_score(early)
    assert 80 < low < 91
    assert lowest_score([[0.0], [90.0]]) is None


def test_axes_have_plain_numbers():
    lines = [Series("a", [0.2, 3, 30], [40, 90, 92]), Series("b", [1, 2, 3], [91, 92, 93])]
    text = line_chart(lines, title="t", x_label="x", y_label="y", log_x=True, lowest_y=89)
    found = re.findall("<!-- (.*?) -->", text)
    assert {"0.2", "0.5", "1", "10", "20"} <= set(found)
    assert not {"40", "60", "80"} & set(found)
    whole = line_chart(lines[1:], title="t", x_label="x", y_label="y")
    assert "1.5" not in re.findall("<!-- (.*?) -->", whole)
    assert "<metadata>" not in text


def test_bar_chart_has_a_bar_and_a_number_for_each_value():
    values = {"one": 2.5, "two": 0.5}
    text = bar_chart(values, title="t", x_label="x", reference=1.0)
    assert text.startswith("<svg")
    assert {"one", "two", "2.5", "0.5"} <= set(re.findall("<!-- (.*?) -->", text))
    assert text == bar_chart(values, title="t", x_label="x", reference=1.0)
