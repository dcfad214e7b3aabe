"""Input at its limits: a right result or a clear refusal; small stand-ins for large data."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag._native import core
from adaptag.corpus.columns import ColumnCorpus, column_parts
from adaptag.corpus.text import LineEnds, unix_line_ends
from adaptag.decoding.options import DecodingOptions
from adaptag.errors import AdaptagError, CorpusError, CorpusWarning, ParameterError
from adaptag.evaluation.segmentation import common_words, evaluate_segmentation
from adaptag.storage import tensors
from adaptag.training import orders
from adaptag.training.interrupts import Interrupts, interruptible

SENTENCES = [["the", "cat"], ["a", "dog"]]
LABELS = [["D", "N"], ["D", "N"]]


# ---- labels --------------------------------------------------------------------------------------


def test_too_many_labels_are_refused_at_once():
    n = 32_768
    with pytest.raises(CorpusError, match=r"^<data>: 32,768 labels; allowed: up to 32,767; is wha"):
        adaptag.train([[str(k) for k in range(n)]], [[f"L{k}" for k in range(n)]])


def test_thousands_of_labels_need_no_table_of_pairs():
    from adaptag.corpus.chunks import ChunkScheme

    scheme = ChunkScheme([f"L{k}" for k in range(30_000)])
    assert not scheme.chunked
    assert len(scheme.spans(np.zeros(5, np.int32), np.array([0, 5]))) == 0
    assert "starts" not in scheme.__dict__


def test_a_label_with_a_lone_surrogate_is_refused():
    with pytest.raises(CorpusError, match=r"labels of sentence 2: .*'\\ud800' has a lone surrog"):
        adaptag.train(SENTENCES, [["D", "N"], ["D", "\ud800"]])
    with pytest.raises(CorpusError, match="has a lone surrogate"):
        adaptag.DocumentClassifier.train(["a", "b"], ["x", "\udfff"])
    with pytest.raises(CorpusError, match="has a lone surrogate"):
        adaptag.StreamTrainer("general").learn(SENTENCES, [["D", "N"], ["D", "\ud800"]])


def test_development_data_of_unknown_labels_is_announced():
    dev = SENTENCES, [["X", "Y"], ["X", "Y"]]
    message = r"development data <data>: none of its labels \(X, Y\) is in the training data"
    with pytest.warns(CorpusWarning, match=message):
        adaptag.train(SENTENCES, LABELS, dev=dev, passes=1)
    chunks = [["B-N", "O"], ["O", "B-N"]]
    with pytest.warns(CorpusWarning, match=r"none of its labels \(B-X, I-X\)"):
        adaptag.train(SENTENCES, chunks, dev=(SENTENCES, [["B-X", "I-X"], ["O", "O"]]), passes=1)


def test_other_development_data_is_not():
    chunks = [["B-N", "O"], ["O", "B-N"]]
    adaptag.train(SENTENCES, chunks, dev=(SENTENCES, [["I-N", "I-N"], ["O", "B-X"]]), passes=1)
    adaptag.train(SENTENCES, chunks, dev=(SENTENCES, [["O", "O"], ["O", "O"]]), passes=1)
    adaptag.train(SENTENCES, LABELS, dev=(SENTENCES, [["X", "Y"], ["X", "D"]]), passes=1)


# ---- line ends -----------------------------------------------------------------------------------

TEXT = b"the D\ncat N\n\na D\ndog N\n"
OLD = TEXT.replace(b"\n", b"\r")


def test_carriage_returns_alone_are_line_ends():
    expected, corpus = ColumnCorpus.from_bytes(TEXT), ColumnCorpus.from_bytes(OLD)
    assert corpus.sentences.tolist() == expected.sentences.tolist() == [0, 2, 4]
    assert corpus.cells.tolist() == expected.cells.tolist()
    parts = ColumnCorpus.read_parts(io.BytesIO(OLD))
    assert [part.sentences.tolist() for part in parts] == [[0, 2], [0, 2]]


def test_carriage_returns_among_line_feeds_are_not():
    data = b"a\rb X\n\nc Y\n"
    assert unix_line_ends(data) == data
    assert unix_line_ends(b"a X\r\nb Y\r\n") == b"a X\r\nb Y\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("data", [TEXT, OLD, TEXT.replace(b"\n", b"\r\n"), b"a\r", b"\r", b""])
def test_line_ends_do_not_depend_on_blocks(size, data):
    line_ends = LineEnds()
    blocks = [data[k : k + size] for k in range(0, len(data), size)]
    assert b"".join(line_ends(block) for block in [*blocks, b""]) == unix_line_ends(data)


def test_other_readers_know_them_too(tmp_path):
    words = adaptag.Segmenter.train(io.BytesIO("天天 人\r人 天\r".encode()), passes=1)
    assert words.model_.provenance["sentences"] == 2
    (tmp_path / "words").write_bytes("天人 2\r人天 3\r".encode())
    words.dictionary.load(tmp_path / "words")
    assert words.dictionary.to_dict() == {"天人": 2.0, "人天": 3.0}
    (tmp_path / "docs").write_bytes(b"x\ta b\ry\tc d\r")
    classes = adaptag.DocumentClassifier.train(tmp_path / "docs", passes=1)
    assert classes.labels == ("x", "y")
    (tmp_path / "items").write_bytes(b"D\tw=the\rN\tw=cat\r\rD\tw=a\r")
    assert adaptag.train(tmp_path / "items", format="attributes", passes=1).labels == ("D", "N")


# ---- long input ----------------------------------------------------------------------------------


class Pipe(io.BytesIO):
    """A file that gives little at a time, and counts the bytes that are looked at."""

    def read(self, size=-1):
        return super().read(min(size, 100))


def test_a_long_sentence_is_searched_once(monkeypatch):
    looked = []

    class Counted(bytearray):
        def rfind(self, mark, start=0):
            looked.append(len(self) - start)
            return super().rfind(mark, start)

    monkeypatch.setattr("adaptag.corpus.columns.bytearray", Counted, raising=False)
    data = b"word X\n" * 5000
    (part,) = column_parts(Pipe(data))
    assert part.data == data
    assert sum(looked) < 5 * len(data)


def test_a_blank_line_between_two_blocks_is_found():
    for ends in (b"\n", b"\r\n"):
        data = (b"a X" + ends + ends + b"b Y" + ends) * 3
        for size in range(1, 12):
            parts = [part.data for part in column_parts(io.BytesIO(data), size=size) if part]
            assert b"".join(parts) == data
            sentences = [ColumnCorpus.from_bytes(part) for part in parts]
            assert sum(len(corpus) for corpus in sentences) == 4


def slow_common(gold, predicted):
    """The length of the longest common subsequence, by the table."""
    row = [0] * (len(predicted) + 1)
    for word in gold:
        before = 0
        for k, other in enumerate(predicted):
            before, row[k + 1] = (
                row[k + 1],
                before + 1 if word == other else max(row[k + 1], row[k]),
            )
    return row[-1]


def test_a_word_of_many_characters_is_scored_in_linear_time():
    text = "天地人" * 8000
    begin = time.process_time()
    score = evaluate_segmentation([[text]], [list(text)])
    assert (score.correct, score.predicted, score.gold) == (0, 24_000, 1)
    assert time.process_time() - begin < 5


def test_words_between_long_ones_are_found():
    long = "天地人" * 1000
    gold = ["a", long, "b", "c", long, "d"]
    predicted = ["a", *long, "b", "c", *long, "d"]
    assert sum(common_words(gold, predicted)) == slow_common(gold, predicted) == 4
    rng = np.random.default_rng(1)
    words = [str(k) for k in rng.integers(0, 9, 1500)]
    cut = ["".join(words[:700]), *words[700:]]
    assert sum(common_words(words, cut)) == slow_common(words, cut) == 800


# ---- files ---------------------------------------------------------------------------------------

TRUNCATED = """
import sys, adaptag
model = adaptag.load(sys.argv[1])
before = model.tag(["the", "cat"])
open(sys.argv[1], "wb").close()
assert model.tag(["the", "cat"]) == before
assert model.to_bytes()
print("alive")
"""


def test_a_loaded_model_outlives_a_truncated_file(tmp_path):
    adaptag.train(SENTENCES, LABELS, passes=1).save(tmp_path / "m")
    command = [sys.executable, "-c", TRUNCATED, str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_large_files_are_mapped_unless_copied(tmp_path, monkeypatch):
    adaptag.train(SENTENCES, LABELS, passes=1).save(tmp_path / "m")

    def mapped(**options):
        opened = []
        monkeypatch.setattr(tensors.mmap, "mmap", lambda *a, **k: opened.append(a) or real(*a, **k))
        adaptag.load(tmp_path / "m", **options)
        return bool(opened)

    real = tensors.mmap.mmap
    assert not mapped()
    monkeypatch.setattr(tensors, "READ_SIZE", 10)
    assert mapped()
    assert not mapped(copy=True)


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1e10, 1e38, 1e300])
def test_enormous_sample_weights_are_refused(weight):
    crf = adaptag.CRF(passes=1)
    with pytest.raises(ParameterError, match=r"sample_weight times class_weight, is 1e\+.*1e\+09"):
        crf.fit([[{"w": "a"}], [{"w": "b"}]], [["X"], ["Y"]], sample_weight=[weight, 1])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e38, 1e39, -1e300])
def test_extreme_values_of_features(value):
    items = [[{"w": "a", "x": value}], [{"w": "b", "x": 1.0}]]
    try:
        model = adaptag.train(items, [["X"], ["Y"]], passes=3)
    except AdaptagError:
        return
    assert np.isfinite(model.weights).all()


@pytest.mark.parametrize("algorithm", ["adf", "sgd", "pa", "arow", "lbfgs", "owlqn"])
def test_no_setting_leaves_a_weight_that_is_not_finite(algorithm):
    names = {p.name for p in adaptag.algorithms()[algorithm].parameters}
    for exponent in range(-6, 7, 2):
        for name in {"rate", "sigma", "c", "r", "l1"} & names:
            options = {name: 10.0**exponent, "passes": 2, "algorithm": algorithm}
            try:
                model = adaptag.train(SENTENCES, LABELS, **options)
            except AdaptagError:
                continue
            assert np.isfinite(model.weights).all()
            assert np.isfinite(adaptag.Model.from_bytes(model.to_bytes()).weights).all()


def test_scores_up_to_ten_thousand_have_probabilities():
    model = adaptag.train(SENTENCES * 3, LABELS * 3, passes=3)
    weights = model.weights * np.float32(1e4 / np.abs(model.weights).max())
    large = adaptag.Model(model.labels, model.index, weights)
    table = large.marginals(["the", "cat"] * 50)
    assert all(abs(sum(row.values()) - 1) < 1e-3 for row in table)
    assert large.tag(["the", "cat"]) == model.tag(["the", "cat"])


def test_duplicate_features_add_up():
    twice = adaptag.train(io.BytesIO(b"X\ta\ta\n\nY\tb\n"), format="attributes", passes=1)
    value = adaptag.train(io.BytesIO(b"X\ta:2\n\nY\tb\n"), format="attributes", passes=1)
    assert twice.probability([{"a": 1}], ["X"]) == value.probability([{"a": 1}], ["X"])


def test_a_template_of_a_thousand_lines():
    text = "".join(f"U{k}:%x[{k % 7 - 3},0]\n" for k in range(1000)) + "B\n"
    model = adaptag.train(SENTENCES, LABELS, template=text, passes=1)
    assert model.tag(["the", "cat"]) == ["D", "N"]


def test_a_long_token_is_a_token_like_others():
    long = "x" * 3_000_000
    model = adaptag.train([[long, "cat"]], [["D", "N"]], passes=2)
    assert model.tag([long, "cat"]) == ["D", "N"]


def test_settings_beyond_all_numbers_are_refused(program):
    Path("f").write_text("a X\n\nb Y\n")
    for value in ("9" * 20, "9" * 500):
        done = program("train", "f", "-m", "m", "--stream", "--max-features", value)
        assert done.code == 2
        assert "max" in done.err
        assert "Traceback" not in done.err
    with pytest.raises(ParameterError, match="cutoff is 1000"):
        adaptag.train(SENTENCES, LABELS, cutoff=10**400)


# ---- wrong types ---------------------------------------------------------------------------------

WRONG = [None, 7, 1.5, b"x", {"a": 1}, [1], [None], [[1]], np.zeros(3), [["a"], None], object()]


@pytest.fixture(scope="module")
def tools():
    return (
        adaptag.train(SENTENCES, LABELS, passes=1),
        adaptag.Segmenter.train([["天天", "人"], ["人"]], passes=1),
    )


CALLS = {
    "train": lambda _, __, x: adaptag.train(x, LABELS, passes=1),
    "labels": lambda _, __, x: adaptag.train(SENTENCES, x or 0, passes=1),
    "start": lambda _, __, x: adaptag.train(SENTENCES, LABELS, start=x or 7, passes=1),
    "checkpoint": lambda _, __, x: adaptag.train(SENTENCES, LABELS, checkpoint=x or 7, passes=1),
    "callbacks": lambda _, __, x: adaptag.train(SENTENCES, LABELS, callbacks=x, passes=1),
    "algorithm": lambda _, __, x: adaptag.train(SENTENCES, LABELS, algorithm=x, passes=1),
    "rate": lambda _, __, x: adaptag.train(SENTENCES, LABELS, rate=[x], passes=1),
    "gold": lambda _, __, x: adaptag.evaluate(x, LABELS),
    "predicted": lambda _, __, x: adaptag.evaluate(LABELS, x),
    "metric": lambda _, __, x: adaptag.evaluate(LABELS, LABELS, metric=x),
    "legal": lambda m, _, x: m.tag(SENTENCES[0], legal=x or 7),
    "allowed": lambda m, _, x: m.tag(SENTENCES[0], allowed=x or 7),
    "probability": lambda m, _, x: m.probability(SENTENCES[0], x),
    "nbest": lambda m, _, x: m.nbest(SENTENCES[0], [x]),
    "load": lambda _, __, x: adaptag.load(x),
    "save": lambda m, _, x: m.save(x),
    "cut": lambda _, s, x: s.cut(x),
    "cut_all": lambda _, s, x: s.cut_all(x),
    "threads": lambda _, s, x: s.cut_all(["a"], [x]),
    "words_all": lambda _, s, x: s.words_all(x),
    "words": lambda _, s, x: s.evaluate(["天天人"], x or 7),
    "add": lambda _, s, x: s.dictionary.add(x or 7),
    "weight": lambda _, s, x: s.dictionary.add(["天"], [x]),
    "remove": lambda _, s, x: s.dictionary.remove(x or 7),
    "convert": lambda _, __, x: adaptag.convert_labels(x, "iob2"),
    "prune": lambda m, _, x: m.compact(prune=[x]),
    "prune of words": lambda _, s, x: s.compact(prune=[x]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::adaptag.errors.CorpusWarning")
def test_wrong_types_are_refused(tools, call):
    for x in WRONG:
        given = 7 if isinstance(x, np.ndarray) and call not in ("train", "gold") else x
        if call == "add" and isinstance(x, dict):
            continue  # words and their weights
        with pytest.raises(AdaptagError):
            CALLS[call](*tools, given)


@pytest.mark.parametrize("array", [np.array(3), np.array("a")])
def test_arrays_without_dimensions_are_no_lists(tools, array):
    for call in ("train", "labels", "gold", "predicted", "cut_all"):
        with pytest.raises(AdaptagError, match="allowed"):
            CALLS[call](*tools, array)
    with pytest.raises(AdaptagError, match="sentence 1 is the ndarray"):
        adaptag.train([array], LABELS[:1], passes=1)


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_what_cannot_name_a_file_is_refused(tools, name):
    for call in ("train", "load", "save"):
        with pytest.raises(AdaptagError, match=r"the file is the string .*; allowed: a path"):
            CALLS[call](*tools, name)


def test_a_template_may_be_longer_than_a_name_of_a_file():
    template = f"U:{'x' * 5000}%x[0,0]"
    assert adaptag.train(SENTENCES, LABELS, template=template, passes=1).index.n_predicates
    with pytest.raises(AdaptagError, match="no template file"):
        adaptag.train(SENTENCES, LABELS, template="x" * 5000, passes=1)


# ---- Ctrl-C --------------------------------------------------------------------------------------


def many_labels(n, tokens):
    return [[f"w{k % n}" for k in range(tokens)]] * 3, [[f"L{k % n}" for k in range(tokens)]] * 3


def test_parts_of_a_pass_are_small_where_labels_are_many():
    data = adaptag.encode(*many_labels(640, 640), template="U:%x[0,0]\nB")
    algorithm = adaptag.algorithms()["adf"]
    values = {p.name: p.default for p in algorithm.parameters}
    training = orders.OrderedTraining(data, algorithm, values, 1)
    assert training._part_size() == 1
    few = adaptag.encode(*many_labels(64, 640), template="U:%x[0,0]\nB")
    assert orders.OrderedTraining(few, algorithm, values, 1)._part_size() == 31


def test_the_size_of_parts_changes_no_weight(monkeypatch):
    data = adaptag.encode(*many_labels(30, 200), template="U:%x[0,0]\nB")
    expected = adaptag.train(data, passes=2).weights
    monkeypatch.setattr(orders, "SLICE_LABELS", 1)
    assert adaptag.train(data, passes=2).weights.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("_ctrl_c")
def test_interruptible_work_ends_at_once():
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt), interruptible():
            raise AssertionError("the note that was there before is looked at first")
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(signal.SIGINT)
        assert not interrupts.immediate


def later(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.usefixtures("_ctrl_c")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_core_hears_signals_while_it_decodes(threads):
    sentences, labels = many_labels(600, 600)
    model = adaptag.train(sentences[:1], labels[:1], template="U:%x[0,0]\nB", passes=1)
    encoded = model.encode(sentences * 300, labels * 300).encoded
    begin = time.perf_counter()
    timer = later(0.5)
    with pytest.raises(KeyboardInterrupt):
        model.tag_encoded(encoded, DecodingOptions(threads=threads))
    timer.join()
    assert time.perf_counter() - begin < 20


def many_times(objective, weights):
    for _ in range(1000):
        objective(weights)


@pytest.mark.usefixtures("_ctrl_c")
def test_a_batch_evaluation_is_left_at_once():
    from adaptag.training.batch import Objective

    data = adaptag.encode(*many_labels(500, 3000), template="U:%x[0,0]\nB")
    objective = Objective(data, threads=2)
    timer = later(0.5)
    begin = time.perf_counter()
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        many_times(objective, np.zeros(objective.n_weights))
    timer.join()
    assert time.perf_counter() - begin < 20


# ---- the core ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_few_copies_of_labels(n):
    """Rows of copies are as wide as what the core reads at a time."""
    model = adaptag.train([["a", "b", "c"]], [["X", "Y", "X"]], passes=2)
    names = list(model.labels)
    decoder = core.Decoder(model.layout, model.weights, model.index.native, names)
    copies = (np.arange(n) % 2).astype(np.int32)
    decoder.split(copies)
    data = model.encode([["a", "b", "c"] * 5], [["X", "Y", "X"] * 5])
    table, log_z = decoder.marginals(data.native(model.layout), None, None)
    assert table.shape == (15, n)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-4)
    if n == 2:
        plain = core.Decoder(model.layout, model.weights, model.index.native, names)
        expected, expected_z = plain.marginals(data.native(model.layout), None, None)
        np.testing.assert_allclose(table, expected, rtol=1e-5)
        np.testing.assert_allclose(log_z, expected_z, rtol=1e-6)


def test_extreme_weights_do_not_overflow():
    model = adaptag.train(SENTENCES, LABELS, passes=1)
    for value in (np.inf, -np.inf, np.nan, 3e38):
        weights = np.full_like(model.weights, value)
        damaged = adaptag.Model(model.labels, model.index, weights)
        try:
            damaged.marginals(["the", "cat"])
        except AdaptagError:
            continue
