"""Input of the wrong type is refused with what was found and what is allowed; bugs are not."""

import numpy as np
import pytest

import adaptag
from adaptag._native import core
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import CorpusError
from tests.reference.data import KINDS, random_problem


@pytest.fixture(scope="module")
def model():
    return adaptag.train([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]], passes=2)


SENTENCES = [
    ("the cat", "the string 'the cat'; allowed: a list of tokens, e.g. the string's .split()"),
    (b"the cat", "the bytes b'the cat'; allowed: a list of tokens"),
    ({"the": 1}, "the dict {'the': 1}; allowed: a list of tokens"),
    (None, "None; allowed: a list of tokens"),
    (7, "the int 7; allowed: a list of tokens"),
    (np.array("a"), "the ndarray array('a', dtype='<U1'); allowed: a list of tokens"),
]
TOKENS = [
    ({"w": "the"}, " is the dict {'w': 'the'}; allowed: a string, or a tuple of strings"),
    (None, " is None; allowed: a string, or a tuple of strings, one per column"),
    (7, " is the int 7; allowed: a string"),
    (b"the", " is the bytes b'the'; allowed: a string"),
    (np.array(7), " is the ndarray array(7); allowed: a string"),
    (("the", 7), ": a column is the int 7; allowed: a string"),
    ({"w": "a" * 100}, " is the dict {'w': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…; allowed"),
]


@pytest.mark.parametrize(("sentence", "message"), SENTENCES)
def test_what_is_no_sentence(model, sentence, message):
    with pytest.raises(CorpusError) as raised:
        model.tag(sentence)
    assert str(raised.value) == f"sentence 1 is {message}"
    with pytest.raises(CorpusError) as raised:
        model.marginals(sentence)
    assert str(raised.value).startswith(f"sentence 1 is {message.split(', e.g.')[0]}")
    with pytest.raises(CorpusError) as raised:
        model.tag_all([["the", "cat"], sentence])
    assert str(raised.value) == f"sentence 2 is {message}"


@pytest.mark.parametrize(("token", "message"), TOKENS)
def test_what_is_no_token(model, token, message):
    with pytest.raises(CorpusError) as raised:
        model.tag(["the", token])
    assert str(raised.value).startswith(f"sentence 1, token 2{message}")
    with pytest.raises(CorpusError) as raised:
        ColumnCorpus.from_sentences([["the"], ["a", token]])
    assert str(raised.value).startswith(f"sentence 2, token 2{message}")


def test_a_token_without_columns():
    message = r"^sentence 2: the first token has no columns; allowed: a string, or a tuple of"
    for empty in ((), []):
        with pytest.raises(CorpusError, match=message):
            adaptag.train([[], [empty, empty]], [[], ["A", "B"]])


@pytest.mark.parametrize("sentences", ["the cat", {"a": ["b"]}, None, 7])
def test_what_are_no_sentences(model, sentences):
    with pytest.raises(CorpusError, match=r"^sentences is .*; allowed: a list of sentences"):
        model.tag_all(sentences)


def test_what_is_no_sequence_of_items():
    with pytest.raises(core.InputError, match=r"^sequence 2 is the string 'the cat'; allowed: a "):
        core.pack_items([[{"w": "a"}], "the cat"])
    with pytest.raises(core.InputError, match=r"^the data is None; allowed: a list of sequences"):
        core.pack_items(None)


def test_lone_surrogates_are_refused(model):
    with pytest.raises(CorpusError, match=r"the string '\\ud800' has a lone surrogate"):
        model.tag(["a", "\ud800"])


def test_errors_of_the_caller_are_passed_on(model):
    def tokens():
        yield "the"
        raise TypeError("a mistake of the caller")

    with pytest.raises(TypeError, match="a mistake of the caller"):
        model.tag(tokens())


def test_mistakes_inside_are_not_taken_for_bad_input(model, monkeypatch):
    monkeypatch.setattr(type(model), "_check_first", lambda *_: 1 + "a")
    with pytest.raises(TypeError, match="unsupported operand"):
        model.tag(["the"])


def test_iterables_are_sentences(model):
    expected = model.tag(["the", "cat"])
    assert model.tag(("the", "cat")) == expected
    assert model.tag(token for token in ("the", "cat")) == expected
    assert model.tag(np.array(["the", "cat"])) == expected
    assert model.tag([("the",), ["cat"]]) == expected


@pytest.mark.parametrize("kind", ["node", "both", "edge"])
def test_a_decoder_needs_the_index_of_its_layout(kind):
    problem = random_problem(1, 3, KINDS["all"])
    weights = problem.pack(problem.zeros())
    names = list(problem.dataset.label_names)
    sizes = dict(zip(("node", "both", "edge"), problem.n_of_kind, strict=True))
    program = core.Program([], [], -1, 0)
    core.Decoder(
        problem.dataset.layout, weights, core.FeatureIndex(program, problem.n_of_kind), names
    )
    for size in (0, sizes[kind] + 1):
        index = core.FeatureIndex(program, tuple((sizes | {kind: size}).values()))
        with pytest.raises(ValueError, match="the feature index does not fit the layout"):
            core.Decoder(problem.dataset.layout, weights, index, names)
