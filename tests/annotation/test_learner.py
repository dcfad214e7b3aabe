"""The learner: models from answers, held-out scores, partly labelled sentences."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.annotation import learner as module
from adaptag.annotation.answers import Answer
from adaptag.annotation.learner import Learner
from adaptag.corpus.ingredients import ingredients
from adaptag.errors import ParameterError

CORPUS = ingredients(train=300, dev=1, test=100)
SENTENCES = [list(sentence.tokens) for sentence in CORPUS.train]
GOLD = [Answer(n, sentence.labels) for n, sentence in enumerate(CORPUS.train)]
FEW_TYPES = ("NAME", "QTY", "UNIT")  # few enough for training with bioes


def with_few_types(answer):
    labels = (label if label[2:] in FEW_TYPES else "O" for label in answer.labels)
    return Answer(answer.sentence, tuple(labels))


def hide(answer, keep):
    """The answer with only the labels of some tokens."""
    labels = (label if keep(t) else None for t, label in enumerate(answer.labels))
    return Answer(answer.sentence, tuple(labels))


@pytest.fixture(scope="module")
def learner():
    return Learner(SENTENCES)


@pytest.mark.parametrize("change", [lambda answer: answer, with_few_types])
def test_the_model_is_that_of_train(learner, change):
    answers = [change(answer) for answer in GOLD[20:70]]
    trained = learner.train(answers)
    expected = adaptag.train(
        SENTENCES[20:70], [answer.labels for answer in answers], passes=module.PASSES
    )
    assert trained.model.states == expected.states
    assert trained.model.labels == expected.labels
    np.testing.assert_array_equal(trained.model.weights, expected.weights)
    assert trained.n_answers == 50
    assert 0 < trained.seconds < 60


def test_it_learns(learner):
    test = [list(s.tokens) for s in CORPUS.test], [s.labels for s in CORPUS.test]
    few, many = (learner.train(GOLD[:n]).model.evaluate(*test).score for n in (20, 300))
    assert few + 10 < many > 80


def test_the_order_of_answers_does_not_count_and_the_last_one_does(learner):
    wrong = Answer(3, ("O",) * len(SENTENCES[3]))
    one = learner.train(GOLD[:30])
    other = learner.train([wrong, *GOLD[:30][::-1]])
    np.testing.assert_array_equal(one.model.weights, other.model.weights)
    assert one.held_out == other.held_out
    assert other.n_answers == 30
    corrected = learner.train([*GOLD[:30], wrong])
    assert not np.array_equal(one.model.weights, corrected.model.weights)


def test_too_little_to_train_on(learner):
    assert learner.train([]) is None
    assert learner.train([Answer(0, ("O",) * len(SENTENCES[0]))]) is None
    assert learner.train([Answer(0, (None,) * len(SENTENCES[0]))]) is None
    assert learner.train(GOLD[:1]).held_out is None
    assert learner.train(GOLD[: module.FEWEST_SCORED - 1]).held_out is None
    assert learner.train(GOLD[: module.FEWEST_SCORED]).held_out is not None


def test_every_answer_is_held_out_once(learner):
    trained = learner.train(GOLD[:100])
    assert trained.n_held_out == 100
    assert trained.held_out.tokens == sum(len(answer.labels) for answer in GOLD[:100])


def test_of_many_answers_a_fifth_is_held_out(learner, monkeypatch):
    monkeypatch.setattr(module, "FOLD_TOKENS", 1)
    sizes = [learner.train(GOLD[:n]).n_held_out for n in (100, 200, 300)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert 40 < sizes[2] < 80
    half = Learner(SENTENCES, held_out=0.5).train(GOLD)
    assert 120 < half.n_held_out < 180
    none = Learner(SENTENCES, held_out=0).train(GOLD)
    assert none.held_out is None
    assert none.n_held_out == 0


def test_the_held_out_score_is_not_that_of_known_sentences():
    rng = np.random.default_rng(1)
    sentences = [[f"w{n}"] for n in range(200)]  # each word once: nothing can be learned
    labels = [(("X", "Y")[k],) for k in rng.integers(0, 2, 200)]
    learner = Learner(sentences, template="U00:%x[0,0]\nB\n")
    trained = learner.train([Answer(n, given) for n, given in enumerate(labels)])
    assert trained.model.evaluate(sentences, labels).score > 99
    assert 30 < trained.held_out.score < 70


@pytest.mark.parametrize("keep", [lambda t: t < 5, lambda t: t % 2 == 0])
@pytest.mark.parametrize("change", [lambda answer: answer, with_few_types])
def test_partly_labelled_sentences_are_used(learner, keep, change):
    answers = [change(answer) for answer in GOLD]
    partial = [hide(answer, keep) for answer in answers[50:]]
    gold = [s.labels for s in CORPUS.test]
    gold = [change(Answer(0, labels)).labels for labels in gold]
    test = [list(s.tokens) for s in CORPUS.test], gold
    few = learner.train(answers[:50]).model.evaluate(*test).score
    more = learner.train([*answers[:50], *partial]).model.evaluate(*test).score
    assert more > few + 1


def test_partial_labels_change_the_scheme_where_they_would_be_lost(learner):
    answers = [with_few_types(answer) for answer in GOLD[:100]]
    one = [*answers[:99], hide(answers[99], lambda t: t < 3)]
    assert learner.train(one).model.training_scheme == "bioes"
    single = [hide(answer, lambda t: t % 2 == 0) for answer in answers]
    assert learner.train(single).model.training_scheme is None


def test_answers_without_a_label_do_not_count(learner):
    nothing = [Answer(n, (None,) * len(SENTENCES[n])) for n in range(20, 40)]
    trained = learner.train([*GOLD[:21], *nothing])  # the last answer to sentence 20 takes it back
    expected = learner.train(GOLD[:20])
    assert trained.n_answers == 20
    np.testing.assert_array_equal(trained.model.weights, expected.model.weights)


def test_partly_labelled_sentences_are_not_scored(learner):
    answers = [*GOLD[:20], *(hide(answer, lambda t: t > 0) for answer in GOLD[20:40])]
    trained = learner.train(answers)
    assert trained.n_answers == 40
    assert trained.n_held_out == 20


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_labels_can_be_learned(data):
    label = st.sampled_from([None, "O", "B-X", "I-X", "B-Y", "I-Y"])
    sentences = [["a", "b", "c", "d"][: 1 + n % 4] for n in range(12)]
    answers = [
        Answer(n, tuple(data.draw(st.lists(label, min_size=len(s), max_size=len(s)))))
        for n, s in enumerate(sentences)
    ]
    trained = Learner(sentences).train(answers)
    known = {name for answer in answers for name in answer.labels} - {None}
    assert (trained is None) == (len(known) < 2)
    if trained is not None:
        assert len(trained.model.tag(["a", "b"])) == 2


def test_mistakes_come_first(learner):
    wrong = tuple("B-BRAND" if label == "B-QTY" else label for label in GOLD[7].labels)
    assert wrong != GOLD[7].labels
    answers = [*GOLD[:7], Answer(7, wrong), *GOLD[8:200]]
    probabilities = learner.label_probabilities(answers)
    assert sorted(probabilities) == list(range(200))
    assert [len(p) for p in probabilities.values()] == [len(s) for s in SENTENCES[:200]]
    assert probabilities[7].min() < 0.1
    least = sorted(probabilities, key=lambda n: probabilities[n].min())
    assert 7 in least[:20]
    assert np.mean([p.mean() for p in probabilities.values()]) > 0.7
    assert learner.label_probabilities(GOLD[:3]) == {}


def test_a_label_that_one_answer_has_is_improbable():
    sentences = [["a", "b"]] * 20
    answers = [Answer(n, ("X", "Y")) for n in range(19)] + [Answer(19, ("Z", "Y"))]
    probabilities = Learner(sentences).label_probabilities(answers)
    assert probabilities[19][0] < 0.3  # the model that was trained without it knows no Z
    assert probabilities[19][1] > 0.5


def test_it_trains_in_another_thread(learner):
    results = []
    thread = threading.Thread(target=lambda: results.append(learner.train(GOLD[:20])))
    thread.start()
    thread.join()
    expected = learner.train(GOLD[:20]).model.weights
    np.testing.assert_array_equal(results[0].model.weights, expected)


def test_answers_that_do_not_fit_are_refused():
    learner = Learner([["a", "b"], ["c"]], labels=["PER", "Yes"])
    learner.train([Answer(0, ("B-PER", "O")), Answer(1, ("Yes",))])
    with pytest.raises(ParameterError, match=r"unknown label 'B-LOC'.*PER"):
        learner.train([Answer(0, ("B-LOC", "O"))])
    with pytest.raises(ParameterError, match=r"unknown label 'No'"):
        learner.train([Answer(1, ("No",))])
    with pytest.raises(ParameterError, match=r"sentence 0: 1 label for 2 tokens"):
        learner.train([Answer(0, ("O",)), Answer(1, ("Yes",))])
    with pytest.raises(ParameterError, match=r"sentence 2; the pool has 2, from 0"):
        learner.train([Answer(2, ("O", "Yes"))])
    with pytest.raises(ParameterError, match=r"held_out is 0.7; allowed: 0 to 0.5"):
        Learner([["a"]], held_out=0.7)
