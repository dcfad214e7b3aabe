"""The work on a project: questions, answers, training in the background, review, search."""

from __future__ import annotations

import threading
import time

import pytest

from adaptag.annotation.learner import Learner
from adaptag.annotation.records import ACCEPTED, CORRECTED
from adaptag.annotation.session import Session
from adaptag.annotation.store import Store
from adaptag.errors import ParameterError
from tests.annotation.making import make_project

WAIT = 60


@pytest.fixture
def gold(tmp_path):
    return make_project(tmp_path / "p")


@pytest.fixture
def session(tmp_path, gold):
    assert gold
    with Store(tmp_path / "p") as store:
        session = Session(store, every=5)
        session.start()
        assert session.wait(WAIT)
        yield session
        session.stop()


def answer_as_gold(session, gold, n, annotator="ann"):
    for _ in range(n):
        shown = session.next(annotator)
        labels = gold[shown["sentence"]].labels
        suggestion = shown["suggestion"]
        session.answer(
            annotator,
            shown["sentence"],
            labels,
            suggested=suggestion and suggestion["labels"],
            seconds=1.5,
        )


def test_first_sentences_have_no_suggestion_and_later_ones_do(session, gold):
    shown = session.next("ann")
    assert shown["suggestion"] is None
    assert shown["origin"] == "empty"
    assert set(shown["labels"]) == {"O"}
    answer_as_gold(session, gold, 20)
    assert session.wait(WAIT)
    shown = session.next("ann")
    assert shown["origin"] == "model"
    suggestion = shown["suggestion"]
    assert shown["labels"] == list(suggestion["labels"])
    assert 0 < suggestion["confidence"] <= 1
    assert len(suggestion["tokens"]) == len(shown["words"])
    for first, last, label, probability in suggestion["spans"]:
        assert shown["labels"][first] == f"B-{label}"
        assert set(shown["labels"][first + 1 : last + 1]) <= {f"I-{label}"}
        assert suggestion["confidence"] <= probability + 1e-6


def test_words_and_gaps_spell_the_sentence(session, gold):
    shown = session.next("ann")
    assert shown["words"] == list(gold[shown["sentence"]].tokens)
    text = session.store.sentences()[shown["sentence"]].text
    assert "".join(g + w for g, w in zip(shown["gaps"], shown["words"], strict=True)) == text


def test_curve_grows_and_survives_a_restart(session, gold, tmp_path):
    for _ in range(10):  # with waits, so that every run asks the same
        answer_as_gold(session, gold, 5)
        assert session.wait(WAIT)
    progress = session.progress()
    curve = progress["curve"]
    assert progress["answered"] == progress["trained_on"] == 50
    assert [point["answers"] for point in curve] == sorted({p["answers"] for p in curve})
    assert curve[-1]["score"] > curve[0]["score"]
    assert progress["error"] == ""
    session.stop()
    session.store.close()
    with Store(tmp_path / "p") as store:
        assert Session(store).progress()["curve"] == curve


def test_every_sentence_is_asked_once_until_all_are_done(session, gold):
    seen = []
    while (shown := session.next("ann")) is not None:
        seen.append(shown["sentence"])
        session.answer("ann", shown["sentence"], gold[shown["sentence"]].labels)
    assert sorted(seen) == list(range(len(gold)))


def test_answers_do_not_wait_for_training(session, gold, monkeypatch):
    release, started = threading.Event(), threading.Event()

    def slow(self, answers):
        started.set()
        assert release.wait(WAIT)
        return original(self, answers)

    original = Learner.train
    monkeypatch.setattr(Learner, "train", slow)
    answer_as_gold(session, gold, 5)
    assert started.wait(WAIT)
    begin = time.perf_counter()
    answer_as_gold(session, gold, 12)
    assert time.perf_counter() - begin < 5
    assert session.progress()["training"]
    release.set()
    assert session.wait(WAIT)
    assert session.progress()["trained_on"] >= 15  # the answers during training were taken up


def test_training_that_fails_does_not_end_labelling(session, gold, monkeypatch):
    def broken(*_):
        raise RuntimeError("no memory")

    original = Learner.train
    monkeypatch.setattr(Learner, "train", broken)
    answer_as_gold(session, gold, 5)
    assert session.wait(WAIT)
    assert session.progress()["error"] == "RuntimeError: no memory"
    monkeypatch.setattr(Learner, "train", original)
    answer_as_gold(session, gold, 5)
    assert session.wait(WAIT)
    assert session.progress()["error"] == ""
    assert session.progress()["trained_on"] == 10


def test_two_annotators_do_not_get_the_same_sentence(session):
    first, second = session.next("ann"), session.next("bob")
    assert first["sentence"] != second["sentence"]
    assert session.next("ann")["sentence"] == first["sentence"]  # a page that is loaded again


def test_skipped_sentences_are_for_others(session):
    first = session.next("ann")["sentence"]
    session.skip("ann", first)
    assert session.next("ann")["sentence"] != first
    seen = set()
    while (shown := session.next("ann")) is not None:
        seen.add(shown["sentence"])
        session.skip("ann", shown["sentence"])
    assert first not in seen
    assert session.next("bob") is not None
    assert session.progress()["answered"] == 0


def test_undo_shows_the_sentence_again_with_its_labels(session, gold):
    number = session.next("ann")["sentence"]
    session.answer("ann", number, gold[number].labels)
    following = session.next("ann")["sentence"]
    shown = session.undo("ann")
    assert shown["sentence"] == number
    assert shown["labels"] == list(gold[number].labels)
    assert session.progress()["answered"] == 0
    assert session.next("ann")["sentence"] == number
    session.answer("ann", number, gold[number].labels)
    assert session.next("ann")["sentence"] == following
    session.undo("ann")
    assert session.undo("ann") is None


def test_accepted_and_corrected_are_told_apart(session, gold):
    number = session.next("ann")["sentence"]
    labels = list(gold[number].labels)
    assert session.answer("ann", number, labels, suggested=labels).kind == ACCEPTED
    other = ["O"] * len(labels)
    assert session.answer("ann", number, labels, suggested=other).kind == CORRECTED
    assert session.answer("ann", number, labels).kind == CORRECTED
    agreement = session.progress()["agreement"]
    assert agreement["answers"] == 2
    assert agreement["sentences"] == 0.5


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["B-XXX"], "B-XXX"),
        ([], "0 labels"),
        (None, "None"),
        ("O", "string"),
        ([3], "int"),
    ],
)
def test_wrong_labels_are_refused(session, labels, message):
    number = next(n for n, s in enumerate(session.store.sentences()) if len(s.tokens) > 1)
    if labels and isinstance(labels, list):
        labels = labels * len(session.store.sentences()[number].tokens)
    with pytest.raises(ParameterError, match=message):
        session.answer("ann", number, labels)
    assert session.store.answers() == []


def test_spans_must_begin(session):
    number = next(n for n, s in enumerate(session.store.sentences()) if len(s.tokens) > 1)
    n = len(session.store.sentences()[number].tokens)
    with pytest.raises(ParameterError, match="token 2: I-QTY does not continue"):
        session.answer("ann", number, ["O", "I-QTY", *["O"] * (n - 2)])
    session.answer("ann", number, [None, "I-QTY", *["O"] * (n - 2)])


@pytest.mark.parametrize("number", [-1, 60, "0", None, True])
def test_unknown_sentences_are_refused(session, number):
    with pytest.raises(ParameterError, match="sentences 0 to 59"):
        session.answer("ann", number, ["O"])


def test_likely_mistakes_come_first(session, gold):
    answer_as_gold(session, gold, 45)
    victim = next(
        a.sentence for a in session.store.answers() if "B-QTY" in a.labels and "B-NAME" in a.labels
    )
    swap = {"B-QTY": "B-PREP", "I-QTY": "I-PREP"}
    mistake = [swap.get(label, label) for label in gold[victim].labels]
    session.answer("ann", victim, mistake)
    session.review()
    assert session.wait(WAIT)
    found = session.review()
    assert not found["busy"]
    assert victim in [row["sentence"] for row in found["rows"][:3]]
    probabilities = [row["probability"] for row in found["rows"]]
    assert probabilities == sorted(probabilities)
    session.answer("bob", victim, mistake)  # confirmed
    assert victim not in [row["sentence"] for row in session.review()["rows"]]


def test_review_asked_for_during_training_sees_the_newest_answer(session, gold, monkeypatch):
    answer_as_gold(session, gold, 14)
    assert session.wait(WAIT)
    release, started = threading.Event(), threading.Event()

    def slow(self, answers):
        started.set()
        assert release.wait(WAIT)
        return original(self, answers)

    original = Learner.train
    monkeypatch.setattr(Learner, "train", slow)
    answer_as_gold(session, gold, 1)  # the fifteenth: training begins
    assert started.wait(WAIT)
    answer_as_gold(session, gold, 1)
    session.review()
    release.set()
    assert session.wait(WAIT)
    assert not session.review()["busy"]


def test_search(session, gold):
    word = gold[7].tokens[-1]
    found = session.search(word.upper())
    assert 7 in [row["sentence"] for row in found["rows"]]
    for row in found["rows"]:
        assert word.lower() in " ".join(row["words"]).lower()
    assert session.search(word, status="answered")["found"] == 0
    session.answer("ann", 7, gold[7].labels)
    assert [r["sentence"] for r in session.search(word, status="answered")["rows"]] == [7]
    assert session.search(label="NAME")["found"] == int("B-NAME" in gold[7].labels)
    assert session.search("no such words")["found"] == 0
    with pytest.raises(ParameterError, match="status"):
        session.search("", status="odd")


def test_labels_that_are_weak(session, gold):
    answer_as_gold(session, gold, 40)
    assert session.wait(WAIT)
    rows = {row["name"]: row for row in session.progress()["labels"]}
    count = sum(a.labels.count("B-NAME") for a in session.store.answers())
    assert rows["NAME"]["count"] == count
    assert rows["NAME"]["f1"] is not None
    session.add_label("NEW")
    assert session.progress()["labels"][-1]["weak"] == "few examples"


def test_strategies(session):
    session.set_strategy("in-order")
    assert session.wait(WAIT)
    numbers = []
    for _ in range(4):
        numbers.append(session.next("ann")["sentence"])
        session.skip("ann", numbers[-1])
    assert numbers == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="strategy"):
        session.set_strategy("odd")


def test_partly_labelled_sentences_are_learned(session, gold):
    for number in range(30):
        labels = [label if label[2:] != "PREP" else None for label in gold[number].labels]
        session.answer("ann", number, labels)
    assert session.wait(WAIT)
    assert session.model is not None
    assert session.progress()["trained_on"] == 30
