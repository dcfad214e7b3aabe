from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus import text as text_module
from adaptag.evaluation.classification import class_table, confusion_table, evaluate_classes
from tests.conftest import Done

GOOD, BAD, ANY = (
    ["good", "great", "loved", "fine"],
    ["bad", "poor", "broke", "awful"],
    ["it", "the", "was"],
)


def reviews(n, seed):
    """Short labelled texts that words tell apart."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        label, words = rng.choice([("pos", GOOD), ("neg", BAD), ("so so", ["okay"])])
        text = rng.choices(words, k=2) + rng.choices(ANY, k=4)
        rng.shuffle(text)
        lines.append(f"{label}\t{' '.join(text)}!\n")
    return "".join(lines)


def converted(text, form):
    """The same documents in another format."""
    out = []
    for line in text.splitlines():
        label, _, words = line.replace("so so", "so").partition("\t")
        counted = sorted(set(words.strip("!").split()))
        pairs = " ".join(f"{hash_of(w) if form == 'svmlight' else w}:1" for w in counted)
        out.append(f"{label} {pairs}\n" if form == "svmlight" else f"{pairs} #label#:{label}\n")
    return "".join(out)


def hash_of(word):
    return 1 + (GOOD + BAD + ANY + ["okay"]).index(word)


TRAIN, TEST = reviews(120, 1), reviews(40, 2)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "train").write_text(TRAIN)
    DocumentClassifier.train(folder / "train").save(folder / "m.adaptag")
    return folder / "m.adaptag"


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train").write_text(TRAIN)
    Path("test").write_text(TEST)
    return partial(program, "classify")


def gold(text=TEST):
    return [line.split("\t")[0] for line in text.splitlines()]


# ---- train ----------------------------------------------------------------------------------


def test_train_writes_a_model_and_says_what_it_does(cli, saved):
    done = cli("train", "train", "-m", "m")
    assert (done.code, done.out) == (0, "")
    said = done.err.splitlines()
    assert re.fullmatch(r"120 documents, format text, read in \d+\.\d\d s", said[0])
    assert len(said) == 23
    assert re.fullmatch(r"m: 3 classes, \d+ features, \d+\.\d kB, \d+\.\d\d s in all", said[-1])
    assert Path("m").read_bytes() == saved.read_bytes()


def test_options_reach_training(cli):
    done = cli(
        "train", "train", "-m", "m", "--format", "text", "--no-bigrams", "--counts",
        "--no-normalise", "--cutoff", 2, "-a", "sgd", "--rate", 0.05, "--seed", 7, "--passes", 2,
    )  # fmt: skip
    assert done.code == 0
    model = adaptag.load("m").model
    origin, scaling = model.provenance, dict(model.configuration["documents"])
    assert scaling.pop("factor") > 0
    assert scaling == {"format": "text", "bigrams": False, "binary": False, "normalise": False}
    assert (origin["algorithm"], origin["seed"]) == ("sgd", 7)
    assert origin["feature_settings"]["cutoff"] == 2
    assert (origin["parameters"]["rate"], len(origin["passes"])) == (0.05, 2)


def test_dev_data_and_the_log(cli):
    Path("hard").write_text(TEST.replace("pos\t", "unknown\t", 1))
    done = cli("train", "train", "-m", "m", "--dev", "hard", "--patience", 2, "--log", "log")
    assert done.code == 0
    best = re.search(r"^best dev accuracy (\d+\.\d\d), in pass (\d+)$", done.err, re.MULTILINE)
    origin = adaptag.load("m").model.provenance
    assert (best[1], int(best[2])) == ("97.50", origin["best_pass"])
    assert len(origin["passes"]) == origin["best_pass"] + 2
    events = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert (events[-1]["event"], events[-1]["model"]) == ("end", "m")


@pytest.mark.parametrize("form", ["svmlight", "counts"])
def test_other_formats(cli, form):
    Path("train").write_text(converted(TRAIN, form))
    Path("test").write_text(converted(TEST, form))
    done = cli("train", "train", "-m", "m")
    assert f", format {form}, " in done.err
    assert adaptag.load("m").model.configuration["documents"]["normalise"] is (form == "counts")
    wanted = [label.replace("so so", "so") for label in gold()]
    assert cli("predict", "test", "-m", "m").out.splitlines() == wanted
    bare = [
        " ".join(field for field in line.split() if field[0] != "#" and ":" in field)
        for line in Path("test").read_text().splitlines()
    ]
    stdin = "\n".join(bare).encode()
    for options in ([], ["--unlabelled"]):
        assert cli("predict", "-", "-m", "m", *options, stdin=stdin).out.splitlines() == wanted


def test_training_data_from_elsewhere(cli, saved):
    Path("train.gz").write_bytes(gzip.compress(TRAIN.encode()))
    for name in ("train.gz", "-"):
        assert cli("train", name, "-m", "m", stdin=TRAIN.encode()).code == 0
        assert Path("m").read_bytes() == saved.read_bytes()


def test_a_converged_run_stops(cli):
    assert cli("train", "train", "-m", "m", "--passes", 500, "--converge").code == 0
    assert len(adaptag.load("m").model.provenance["passes"]) < 500


# ---- predict --------------------------------------------------------------------------------


def test_predict(cli, saved):
    done = cli("predict", "test", "-m", saved)
    assert (done.code, done.err, done.out.splitlines()) == (0, "", gold())
    assert cli("predict", "test", "-m", saved, "-o", "out") == Done(0, "", "")
    assert Path("out").read_text() == done.out
    bare = "\n\n".join(line.split("\t")[1] for line in TEST.splitlines())
    assert cli("predict", "-", "-m", saved, stdin=bare.encode()).out == done.out


def test_tabs_in_texts_without_labels(cli, saved):
    def found(text, *options):
        return cli("predict", "-", "-m", saved, "--probabilities", *options, stdin=text).out

    text = b"awful poor\tit was\n"
    assert found(text) == found(b"it was\n")
    assert found(text, "--unlabelled") == found(b"awful poor it was\n") != found(text)


def test_probabilities(cli, saved):
    done = cli("predict", "test", "-m", saved, "--probabilities")
    labels = adaptag.load(saved).labels
    for line, wanted in zip(done.out.splitlines(), gold(), strict=True):
        label, *cells = line.split("\t")
        assert label == wanted
        pairs = [cell.rsplit(":", 1) for cell in cells]
        assert tuple(name for name, _ in pairs) == labels
        chances = {name: float(p) for name, p in pairs}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
        assert chances[label] == max(chances.values()) > 0.5


def test_the_size_of_blocks_does_not_matter(cli, saved, monkeypatch):
    whole = cli("predict", "test", "-m", saved, "--probabilities").out
    monkeypatch.setattr(text_module, "LONG", 8)
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (5,))
    assert cli("predict", "test", "-m", saved, "--probabilities").out == whole


def test_predict_makes_the_features_of_training(cli):
    """A model without bigrams gives a text and its reversal the same probabilities."""
    text = b"great it was bad\nbad was it great\n"
    same = []
    for option in ("--bigrams", "--no-bigrams"):
        assert cli("train", "train", "-m", "m", option).code == 0
        first, second = (
            [float(number) for number in re.findall(r"\d\.\d+", line)]
            for line in cli(
                "predict", "-", "-m", "m", "--probabilities", stdin=text
            ).out.splitlines()
        )
        same.append(first == pytest.approx(second, abs=2e-5))  # sums in another order
    assert same == [False, True]


def test_a_failure_leaves_the_old_output(cli, saved):
    Path("bad").write_bytes(b"fine\n" * 3 + b"\xff\n")
    Path("out").write_text("old")
    assert cli("predict", "bad", "-m", saved, "-o", "out").code == 2
    assert Path("out").read_text() == "old"


def test_document_models_are_ordinary_models(saved):
    code = "from adaptag.cli.program import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", saved], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert b"great" in done.stdout


# ---- evaluate -------------------------------------------------------------------------------


def test_evaluate(cli, saved):
    Path("hard").write_text(TEST + "pos\tawful\nB-x\tgreat\n")
    done = cli("evaluate", "hard", "-m", saved, "--json")
    score = json.loads(done.out)
    n = {label: gold().count(label) for label in ("pos", "neg", "so so")}
    assert (score["documents"], score["correct"]) == (42, 40)
    assert score["accuracy"] == pytest.approx(100 * 40 / 42)
    assert score["by_class"]["pos"]["gold"] == n["pos"] + 1
    assert score["by_class"]["pos"]["precision"] == pytest.approx(100 * n["pos"] / (n["pos"] + 1))
    assert score["by_class"]["B-x"]["recall"] == 0
    at = score["labels"].index
    assert score["confusion"][at("pos")][at("neg")] == 1
    assert score["confusion"][at("B-x")][at("pos")] == 1
    shown = cli("evaluate", "hard", "-m", saved).out
    assert "accuracy 95.24% (40 of 42)" in shown
    for label in (*n, "B-x"):
        assert label in shown


def test_scores_of_classes():
    score = evaluate_classes(np.array([2, 2, 2, 0, 1]), np.array([2, 2, 0, 0, 0]), "abcd")
    assert score.labels == ("c", "a", "b")
    assert score.confusion.tolist() == [[2, 1, 0], [0, 1, 0], [0, 1, 0]]
    assert score.accuracy == 60
    assert score.macro_f1 == pytest.approx((80 + 50 + 0) / 3)
    with pytest.raises(adaptag.AdaptagError, match="2 right classes but 1 predicted"):
        evaluate_classes(np.array([0, 1]), np.array([0]), "ab")


def test_tables_of_many_classes_are_cut():
    labels = [f"[c{k}]" for k in range(40)]
    ids = np.repeat(np.arange(40), np.arange(40, 0, -1))
    score = evaluate_classes(ids, ids, labels)
    table = class_table(score)
    assert table.row_count == 31
    assert "10 less frequent classes left out" in table.caption
    assert confusion_table(score).row_count == 10
    assert confusion_table(score).caption == "the 10 largest classes"


# ---- wrong input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train no -m m", "no: cannot read: No such file or directory"),
        ("train bad -m m", "bad:2: invalid UTF-8"),
        ("train empty -m m", "empty:1: no document found; the file is empty"),
        ("train plain -m m", "plain:1: the line is in none of the formats svmlight"),
        ("train plain -m m --format text", "plain:1: no label; write label<TAB>text"),
        ("train numbers -m m", "numbers:2: '7:x'; allowed: feature:value, the value a finite"),
        ("train ranks -m m", "ranks:1: 'qid:' makes groups for ranking"),
        ("train one -m m", "one: the only label is 'a'; allowed: two or more"),
        ("train train -m m --format svm", "format is 'svm'; allowed: auto, svmlight, counts, text"),
        ("train train -m no/m", "no/m: cannot write: No such file or directory"),
        ("train train -m m -a x", "unknown algorithm 'x'"),
        ("train train -m m --dev plain", "plain:1: no label; write label<TAB>text"),
        ("train two -m m --no-bigrams", "--bigrams and --no-bigrams require the format text"),
        ("predict test -m no", "no: cannot read: No such file or directory"),
        ("predict test -m train", "train: not an adaptag classifier"),
        (
            "predict test -m tagger",
            "tagger: holds an adaptag model; expected an adaptag classifier",
        ),
        ("predict bad -m MODEL", "bad:2: invalid UTF-8; allowed: UTF-8 text"),
        ("predict test -m MODEL -o no/o", "no/o: cannot write"),
        ("evaluate plain -m MODEL", "plain:1: no label; write label<TAB>text"),
        (
            "evaluate test -m tagger",
            "tagger: holds an adaptag model; expected an adaptag classifier",
        ),
        ("evaluate no -m MODEL", "no: cannot read"),
    ],
)
def test_bad_input_ends_with_a_message(cli, saved, arguments, message):
    Path("bad").write_bytes(b"a\tb\n\xff\n")
    Path("empty").write_text("\n")
    Path("plain").write_text("hello there\n")
    Path("numbers").write_text("1 2:3\n0 7:x\n")
    Path("ranks").write_text("1 qid:1 2:3\n")
    Path("one").write_text("a\tb\na\tc\n")
    Path("two").write_text("1 2:3\n0 3:1\n")
    adaptag.train([["x", "y"]], [["A", "B"]], passes=1).save("tagger")
    done = cli(*(saved if word == "MODEL" else word for word in arguments.split()))
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"adaptag: {message}")
    assert not Path("m").exists()


@pytest.mark.parametrize(
    "arguments",
    ["train train -m m --cutoff 0", "predict test", "evaluate test", "nonsense"],
)
def test_wrong_usage(cli, arguments):
    done = cli(*arguments.split())
    assert (done.code, done.out) == (2, "")
