"""Documents of spaCy as training data, and tagged data as documents."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy", reason="needs spaCy")

from spacy.tokens import Doc, DocBin, Span  # noqa: E402

import adaptag  # noqa: E402
from adaptag.corpus import spans as tagged  # noqa: E402
from adaptag.corpus.docbin import DocBinFormat, corpus_of_docs  # noqa: E402
from adaptag.corpus.tagged_texts import read_tagged_texts  # noqa: E402
from adaptag.errors import CorpusError, ParameterError  # noqa: E402
from adaptag.spacy import read_docbin, to_docbin  # noqa: E402
from adaptag.spacy.docs import words_and_spaces  # noqa: E402
from tests.spacy.making import columns, corpus, model  # noqa: E402

NLP = spacy.blank("xx")
TEXT = "Ann  Lee sings in New York."


def labels_of(corpus):
    ids, names = corpus.number_labels()
    flat = [None if i < 0 else names[i] for i in ids.tolist()]
    bounds = corpus.sentences.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(bounds)]


def doc(words, ents=None, **more):
    return Doc(NLP.vocab, words=words, ents=ents, **more)


def test_training_from_a_file(tmp_path):
    path = tmp_path / "train.spacy"
    to_docbin(*columns(corpus().train)).to_disk(path)
    trained = adaptag.train(path, passes=5, seed=1)
    assert trained.to_bytes() == model().to_bytes()
    with path.open("rb") as file:
        assert len(adaptag.read(file, format="docbin")) == 300
    tokens, labels = columns(corpus().test)
    to_docbin(tokens, labels).to_disk(tmp_path / "test.spacy")
    result = model().evaluate(tmp_path / "test.spacy")
    assert result.score == model().evaluate(tokens, labels).score


def test_training_on_the_command_line(tmp_path, program):
    to_docbin(*columns(corpus().train)).to_disk(tmp_path / "train.spacy")
    data, out = str(tmp_path / "train.spacy"), str(tmp_path / "m")
    arguments = ["train", data, "-m", out, "--passes", "5", "--seed", "1"]
    assert program(*arguments).code == 0
    assert adaptag.load(out).labels == model().labels
    done = program(*arguments, "--format", "docbin-tags")
    assert done.code == 2
    assert "train.spacy: no token of 300 documents has tags annotated" in done.err
    (tmp_path / "bad.spacy").write_bytes(b"no DocBin")
    done = program("train", tmp_path / "bad.spacy", "-m", out)
    assert done.code == 2
    assert "bad.spacy: not a DocBin of spaCy, or damaged" in done.err


def test_sentences_white_space_and_missing_annotation():
    words = ["\n", "New", " ", "York", "Ann", "x", "Bob", "Bob"]
    ents = ["O", "B-LOC", "I-LOC", "I-LOC", "B-PER", "", "B-PER", "B-PER"]
    starts = [True, False, False, True, False, False, False, False]
    docs = [doc(words, ents, sent_starts=starts), doc(["a", "b"])]
    read = corpus_of_docs(docs)
    assert labels_of(read) == [
        ["B-LOC"],
        ["B-LOC", "B-PER", None, "B-PER", "B-PER"],
        [None, None],
    ]


def test_an_entity_with_white_space_inside_is_one():
    read = corpus_of_docs([doc(["New", " ", "York"], ["B-LOC", "I-LOC", "I-LOC"])])
    assert labels_of(read) == [["B-LOC", "I-LOC"]]


def test_files_are_drawn(tmp_path):
    path = tmp_path / "x.spacy"
    docs = [doc(["Ann", "in", "Rome"], ["B-PER", "O", "B-LOC"]), doc(["No"], [""])]
    DocBin(docs=docs).to_disk(path)
    first, second = read_tagged_texts(path)
    assert [(span.text, span.label) for span in first] == [("Ann", "PER"), ("Rome", "LOC")]
    assert (second.text, len(second)) == ("No", 0)
    with pytest.raises(ParameterError, match="documents of spaCy; allowed: jsonl"):
        adaptag.evaluate_file(path, predicted=path)


def test_tags_and_spans():
    one = doc(["a", "b", "c"], ["B-X", "O", "O"], tags=["DT", "", "NN"])
    one.spans["mine"] = [Span(one, 1, 3, label="NP")]
    assert labels_of(corpus_of_docs([one], DocBinFormat("tags"))) == [["DT", None, "NN"]]
    assert labels_of(corpus_of_docs([one], DocBinFormat("spans", "mine"))) == [
        ["O", "B-NP", "I-NP"]
    ]
    one.spans["mine"] = [Span(one, 1, 3, label="NP"), Span(one, 2, 3, label="N")]
    with pytest.raises(CorpusError, match="document 1: the spans overlap at the token 'c'"):
        corpus_of_docs([one], DocBinFormat("spans", "mine"))
    with pytest.raises(CorpusError, match="no token of 1 documents has spans 'sc' annotated"):
        corpus_of_docs([one], DocBinFormat("spans"))


def test_columns_of_a_file(tmp_path):
    path = tmp_path / "x.spacy"
    DocBin(docs=[doc(["Aa", "b"], ["B-X", "O"], tags=["T", ""])]).to_disk(path)
    read = read_docbin(path, DocBinFormat(columns=("text", "tag_", "shape_")))
    text = read.text.tobytes()
    cells = [[text[a:b].decode() for a, b in token] for token in read.cells]
    assert cells == [["Aa", "T", "Xx"], ["b", "_", "x"]]
    with pytest.raises(ParameterError, match="no attribute 'tagg'"):
        read_docbin(path, DocBinFormat(columns=("text", "tagg")))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_damaged_files_raise_corpus_errors(data):
    whole = bytearray(to_docbin([["a", "b"]], [["B-X", "O"]]).to_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(0, len(whole)))
    damaged = data.draw(st.sampled_from([whole, whole[:end]]))
    with pytest.raises(CorpusError, match="<file>: not a DocBin"):
        read_docbin(io.BytesIO(bytes(damaged)))


# ---- documents of tagged data --------------------------------------------------------------------

LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", None])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(LABELS, min_size=1, max_size=6), min_size=1, max_size=4))
def test_labels_go_through_documents(labels):
    """The same chunks come back, as IOB2, and labels that are not known stay unknown."""
    labels.append(["B-X", "O", None, "B-Y", "I-Y"])
    tokens = [[f"w{n}" for n, _ in enumerate(row)] for row in labels]
    docs = list(to_docbin(tokens, labels).get_docs(NLP.vocab))
    expected = []
    for row in labels:
        fixed, before = [], None
        for label in row:
            starts = label and label[0] == "I" and (before is None or before[2:] != label[2:])
            fixed.append("B" + label[1:] if starts else label)
            before = label
        expected.append(fixed)
    assert labels_of(corpus_of_docs(docs)) == expected


def test_tags_become_tags_and_columns_attributes():
    data = [[("a", "L1", "DT"), ("b", "L2", "NN")]]
    (made,) = to_docbin(data, columns=("text", "lemma_")).get_docs(NLP.vocab)
    assert [(t.text, t.lemma_, t.tag_) for t in made] == [("a", "L1", "DT"), ("b", "L2", "NN")]
    with pytest.raises(ParameterError, match="columns is text; <data> has 2 before the label"):
        to_docbin(data)
    with pytest.raises(ParameterError, match="'pos_' of tokens cannot be 'L1'"):
        to_docbin(data, columns=("text", "pos_"))


def tagged_text(text, *spans, tokens=()):
    made = tuple(tagged.Span(a, b, label, text[a:b]) for a, b, label in spans)
    return tagged.TaggedText(text, made, tokens)


def test_texts_become_documents():
    text = tagged_text(TEXT, (0, 8, "PER"), (18, 26, "LOC"))
    (made,) = to_docbin([text]).get_docs(NLP.vocab)
    assert made.text == TEXT
    assert [(e.start_char, e.end_char, e.label_) for e in made.ents] == [
        (0, 8, "PER"),
        (18, 26, "LOC"),
    ]
    inside = tagged_text(TEXT, (10, 12, "X"), tokens=((0, 3), (5, 14)))
    (made,) = to_docbin([inside]).get_docs(NLP.vocab)
    assert (made.text, made.ents[0].text) == (TEXT, "in")
    with pytest.raises(CorpusError, match="text 1: its spans overlap"):
        to_docbin([tagged_text(TEXT, (0, 3, "A"), (0, 3, "B"))])
    with pytest.raises(CorpusError, match="text 1: its spans overlap, are empty"):
        to_docbin([tagged_text(TEXT, (0, 99, "A"))])


@given(st.text(alphabet=" \n\tab中", max_size=12), st.sets(st.integers(0, 12)))
def test_words_and_spaces_give_the_text(text, places):
    words, spaces = words_and_spaces(text, {place for place in places if place < len(text)})
    made = Doc(NLP.vocab, words=words, spaces=spaces)
    assert made.text == text


def test_unknown_language():
    with pytest.raises(ParameterError, match="language is 'qq'"):
        to_docbin([["a"]], [["O"]], language="qq")


def test_without_spacy():
    """The error names the extra; adaptag itself never imports spaCy."""
    code = """
import sys
sys.modules["spacy"] = None
import adaptag
for use in (lambda: adaptag.train("x.spacy"), lambda: __import__("adaptag.spacy").spacy.to_docbin):
    try:
        use()
    except adaptag.AdaptagError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'adaptag[spacy]'") == 2


def test_import_is_light():
    code = "import sys, adaptag; adaptag.train; print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
