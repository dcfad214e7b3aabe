"""Files that are imported into a project, and exported from it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adaptag
from adaptag.annotation.exporting import export, format_of, tagged_text
from adaptag.annotation.importing import read_texts
from adaptag.annotation.records import CORRECTED, Sentence
from adaptag.annotation.store import Store
from adaptag.corpus.ingredients import column_text
from adaptag.errors import AdaptagError, CorpusError, ParameterError
from tests.annotation.making import demo_sentences, make_project

COLUMNS = b"Ann\tB-PER\nLee\tI-PER\nsaw\tO\n\nRome\tB-LOC\n"


def words_of(imported):
    return [
        [text.text[a:b] for a, b in tokens] for text in imported.texts for tokens in text.sentences
    ]


def test_text_file():
    found = read_texts(b"Ann saw 3.5 dogs.\n\n  Don't!\r\n", "a.txt")
    assert words_of(found) == [["Ann", "saw", "3.5", "dogs", "."], ["Don't", "!"]]
    assert found.kind is None
    assert found.n_labelled == 0


def test_text_by_characters():
    found = read_texts("北京 好".encode(), "a.txt", "text", "characters")
    assert words_of(found) == [["北", "京", "好"]]


def test_column_files():
    found = read_texts(COLUMNS, "a.txt")
    assert words_of(found) == [["Ann", "Lee", "saw"], ["Rome"]]
    assert [t.text for t in found.texts] == ["Ann Lee saw", "Rome"]
    assert [t.labels for t in found.texts] == [[["B-PER", "I-PER", "O"]], [["B-LOC"]]]
    assert found.labels == ["LOC", "PER"]
    assert found.kind == "spans"
    tokens = read_texts(b"Ann\nsaw\n\nRome\n", "a.conll")
    assert words_of(tokens) == [["Ann", "saw"], ["Rome"]]
    assert tokens.n_labelled == 0


def test_columns_of_tags():
    found = read_texts(b"the DET\ncat NOUN\n\na DET\n", "a.txt")
    assert found.kind == "tags"
    assert found.labels == ["DET", "NOUN"]
    assert found.texts[0].labels == [["DET", "NOUN"]]


def test_chinese_columns_are_joined_without_blanks():
    found = read_texts("北\tB-LOC\n京\tI-LOC\nis\tO\n".encode(), "a.txt")
    assert found.texts[0].text == "北京 is"


def test_json_lines():
    rows = [
        {"text": "Ann saw Rome", "spans": [[8, 12, "LOC"], {"start": 0, "end": 3, "label": "PER"}]},
        {"text": "Ann\nsaw Rome.", "spans": [[8, 11, "LOC"]]},
        {"text": "not labelled"},
    ]
    found = read_texts("\n".join(map(json.dumps, rows)).encode(), "a.jsonl")
    assert found.texts[0].labels == [["B-PER", "O", "B-LOC"]]
    assert found.texts[1].labels == [["O"], ["O", None, "O"]]  # "Rom" is no token
    assert found.cut == 1
    assert found.texts[2].labels == [None]
    assert found.labels == ["LOC", "PER"]


def test_json_lines_of_tokens():
    rows = [{"tokens": ["the", "cat"], "tags": ["DET", None]}, {"text": "a dog"}]
    found = read_texts("\n".join(map(json.dumps, rows)).encode(), "a.jsonl")
    assert found.kind == "tags"
    assert [t.labels for t in found.texts] == [[["DET", None]], [None]]
    assert words_of(found) == [["the", "cat"], ["a", "dog"]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.jsonl:1: no sentence"),
        (b'{"text": "a"}\n{"text', "a.jsonl:2, character 2: not JSON"),
        (b"[1]", "a.jsonl:1: the list"),
        (b'{"text": 3, "spans": []}', "a.jsonl:1: the text is"),
        (b'{"text": "ab", "spans": 3}', "a.jsonl:1: 'spans' is"),
        (b'{"text": "ab", "spans": [[0, 3, "X"]]}', "2 characters"),
        (b'{"text": "ab", "spans": [[1, 1, "X"]]}', "is empty"),
        (b'{"text": "ab", "spans": [[0, 1]]}', "a.jsonl:1: 'spans' has"),
        (b'{"text": "ab", "spans": [[0, 2, "X"], [1, 2, "Y"]]}', "overlap"),
        (b'{"text": "ab", "spans": [[0, 2, "a,b"]]}', "a label is"),
        (b'{"text": "\xff"}', "a.jsonl:1: not UTF-8"),
    ],
)
def test_wrong_json_lines(data, message):
    with pytest.raises(AdaptagError, match=message):
        read_texts(data, "a.jsonl")


def test_lines_between_documents_are_no_sentences():
    found = read_texts(b"-DOCSTART- O\n\nAda B-PER\n\n-DOCSTART- O\n\nRome B-LOC\n", "a.conll")
    assert [text.text for text in found.texts] == ["Ada", "Rome"]


def test_wrong_columns():
    with pytest.raises(CorpusError, match=r"a\.tsv:2"):
        read_texts(b"a\tO\nb\n", "a.tsv")
    with pytest.raises(ParameterError, match="unknown format"):
        read_texts(b"a", "a.txt", "odd")


@given(st.binary(max_size=60), st.sampled_from(["auto", "text", "columns", "jsonl"]))
def test_any_bytes_are_read_or_refused(data, file_format):
    try:
        found = read_texts(data, "x", file_format)
    except AdaptagError:
        return
    for text in found.texts:
        for tokens, labels in zip(text.sentences, text.labels, strict=True):
            assert tokens
            assert labels is None or len(labels) == len(tokens)
            assert all(0 <= a < b <= len(text.text) for a, b in tokens)


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=1, max_size=8))
def test_spans_and_labels_are_the_same(raw):
    labels, before = [], "O"
    for label in raw:
        if label[0] == "I" and before[2:] != label[2:]:
            label = f"B-{label[2:]}"
        labels.append(label)
        before = label
    tokens = tuple((3 * n, 3 * n + 2) for n in range(len(labels)))
    sentence = Sentence(0, " ".join(["ab"] * len(labels)), tokens, "x")
    line = json.dumps(tagged_text(sentence, labels).to_dict()).encode()
    assert read_texts(line, "x.jsonl", tokenizer="whitespace").texts[0].labels == [labels]


@pytest.fixture
def project(tmp_path):
    make_project(tmp_path / "p", 40, labelled=30)
    with Store(tmp_path / "p") as store:
        yield store


def test_columns_come_back(project, tmp_path):
    assert export(project, tmp_path / "out.txt") == 30
    assert (tmp_path / "out.txt").read_text() == column_text(demo_sentences(40)[:30])


def test_training_from_an_export_gives_the_same_model(project, tmp_path):
    export(project, tmp_path / "out.txt")
    sentences = demo_sentences(40)[:30]
    exported = adaptag.train(tmp_path / "out.txt", passes=3)
    direct = adaptag.train([s.tokens for s in sentences], [s.labels for s in sentences], passes=3)
    np.testing.assert_array_equal(exported.weights, direct.weights)


def test_json_lines_come_back(project, tmp_path):
    export(project, tmp_path / "out.jsonl")
    found = read_texts((tmp_path / "out.jsonl").read_bytes(), "x.jsonl", tokenizer="whitespace")
    assert [t.labels[0] for t in found.texts] == [list(s.labels) for s in demo_sentences(40)[:30]]


def test_latest_answer_wins_and_undone_ones_are_left_out(project, tmp_path):
    n = len(project.sentences()[0].tokens)
    project.add_answer(0, "ann", CORRECTED, ["O"] * n)
    project.add_answer(35, "ann", CORRECTED, ["O"] * len(project.sentences()[35].tokens))
    project.undo("ann")
    assert export(project, tmp_path / "out.jsonl") == 30
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["spans"] == []


def test_partly_labelled_sentences(project, tmp_path):
    n = len(project.sentences()[35].tokens)
    project.add_answer(35, "ann", CORRECTED, [None, *["O"] * (n - 1)])
    export(project, tmp_path / "out.jsonl")
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert last["tags"] == [None, *["O"] * (n - 1)]
    assert last["tokens"] == project.sentences()[35].words
    export(project, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == column_text(demo_sentences(40)[:30])


def test_label_studio(project, tmp_path):
    export(project, tmp_path / "out.json")
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert len(tasks) == 30
    for task in tasks:
        for region in task["annotations"][0]["result"]:
            value = region["value"]
            assert task["data"]["text"][value["start"] : value["end"]] == value["text"]
            assert region["type"] == "labels"
    spans = sum(len(task["annotations"][0]["result"]) for task in tasks)
    assert spans == sum(x[0] == "B" for s in demo_sentences(40)[:30] for x in s.labels)


def test_model(project, tmp_path):
    export(project, tmp_path / "out.adaptag")
    model = adaptag.load(tmp_path / "out.adaptag")
    sentence = demo_sentences(40)[3]
    assert model.tag(sentence.tokens) == list(sentence.labels)


def test_the_model_knows_the_tokenizer(project, tmp_path):
    project.set_tokenizer("whitespace")
    export(project, tmp_path / "out.adaptag")
    tagged = adaptag.load(tmp_path / "out.adaptag").tag_text("2 cups (packed) flour")
    assert "".join(tagged.text[a:b] for a, b in tagged.tokens[2:3]) == "(packed)"


def test_docbin(project, tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    export(project, tmp_path / "out.spacy")
    docs = spacy.tokens.DocBin().from_disk(tmp_path / "out.spacy")
    docs = list(docs.get_docs(spacy.blank("xx").vocab))
    assert len(docs) == 30
    assert [e.label_ for e in docs[0].ents] == [
        label[2:] for label in demo_sentences(40)[0].labels if label[0] == "B"
    ]


def test_nothing_to_export(tmp_path):
    with Store(tmp_path / "p", create=True) as store:
        with pytest.raises(CorpusError, match="nothing to export"):
            export(store, tmp_path / "out.txt")
        with pytest.raises(ParameterError, match="unknown format"):
            export(store, tmp_path / "out.txt", "odd")
    assert not (tmp_path / "out.txt").exists()


def test_formats_by_ending():
    assert format_of("a.conll") == "columns"
    assert format_of("a.JSONL") == "jsonl"
    assert format_of("a.spacy") == "docbin"
    assert format_of("a.adaptag") == "model"
