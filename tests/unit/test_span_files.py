"""Labelled texts: JSON lines, exports of annotation tools and Python data become sentences."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.corpus.annotation_files import READERS, read_records
from adaptag.corpus.data import corpus_of
from adaptag.corpus.tokenizers import TOKENIZERS
from adaptag.errors import AdaptagError, CorpusError, CorpusWarning, FileError, ParameterError

TEXT = "Anna lives in New York.\nTom too"
SPANS = [[0, 4, "PER"], [14, 22, "LOC"], [24, 27, "PER"]]
LABELS = [["B-PER", "O", "O", "B-LOC", "I-LOC", "O"], ["B-PER", "O"]]


def labels_of(corpus):
    ids, names = corpus.number_labels()
    flat = [None if y < 0 else names[y] for y in ids.tolist()]
    bounds = corpus.sentences.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(bounds)]


def tokens_of(corpus):
    text = corpus.text.tobytes()
    cells = [text[a:b].decode() for ((a, b),) in corpus.cells.tolist()]
    bounds = corpus.sentences.tolist()
    return [cells[a:b] for a, b in itertools.pairwise(bounds)]


def write(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


FORMS = [
    {"text": TEXT, "spans": SPANS},
    {"text": TEXT, "spans": [{"start": a, "end": b, "label": x} for a, b, x in SPANS]},
    {"text": TEXT, "label": SPANS},
    {"text": TEXT, "labels": SPANS[::-1], "id": 7},
    {
        "text": TEXT,
        "entities": [
            {"id": 1, "label": x, "start_offset": a, "end_offset": b} for a, b, x in SPANS
        ],
    },
    {"text": TEXT, "spans": [[0, 5, "PER"], [13, 22, "LOC"], [23, 28, "PER"]]},  # with blanks
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.jsonl.gz"])
def test_json_lines(tmp_path, form, name):
    path = write(tmp_path / name, form)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    corpus = corpus_of(path)
    assert labels_of(corpus) == LABELS
    assert tokens_of(corpus)[0] == ["Anna", "lives", "in", "New", "York", "."]
    assert corpus.lines.tolist() == [1] * 8
    assert labels_of(corpus_of([form])) == LABELS


def test_a_list_of_objects_and_other_endings(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(FORMS[:2]))
    assert labels_of(corpus_of(path)) == LABELS * 2
    other = write(tmp_path / "a.txt", FORMS[0])
    assert labels_of(corpus_of(other, format="jsonl")) == LABELS
    assert labels_of(corpus_of(io.BytesIO(other.read_bytes()), format="doccano")) == LABELS
    with pytest.raises(ParameterError, match="unknown format 'jsonk'; did you mean"):
        corpus_of(other, format="jsonk")


def test_column_format_does_not_hide_the_ending(tmp_path):
    path = write(tmp_path / "a.jsonl", FORMS[0])
    assert labels_of(corpus_of(path, format=adaptag.ColumnFormat(comment="#"))) == LABELS
    columns = tmp_path / "b.json"
    columns.write_text("red ADJ\n")
    assert corpus_of(columns, format="columns").n_columns == 2


def test_tokens_with_tags(tmp_path):
    rows = [
        {"tokens": ["a", "b c"], "tags": ["X", None]},
        {"tokens": ["d"], "ner_tags": ["B-Y"]},
    ]
    corpus = corpus_of(write(tmp_path / "a.jsonl", *rows))
    assert (tokens_of(corpus), labels_of(corpus)) == ([["a", "b c"], ["d"]], [["X", None], ["B-Y"]])
    assert labels_of(corpus_of(rows)) == labels_of(corpus)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None)
@given(data=st.data())
def test_spans_of_whole_tokens_come_back(name, data):
    """The chunks of the labels are the spans, for any text and any whole tokens of a sentence."""
    text = data.draw(st.text(st.sampled_from("ab 1.'\n漢é"), min_size=1, max_size=20))
    sentences = TOKENIZERS[name](text)
    if not sentences:
        return
    spans = []
    for places in sentences:
        first = 0
        while first < len(places):
            last = data.draw(st.integers(first, len(places) - 1))
            if data.draw(st.booleans()):
                label = data.draw(st.sampled_from(["X", "Y-Z", ""]))
                spans.append((places[first][0], places[last][1], label))
            first = last + 1
    found = []
    corpus = corpus_of([{"text": text, "spans": spans}], tokenizer=name)
    for places, labels in zip(sentences, labels_of(corpus), strict=True):
        for (start, end), label in zip(places, labels, strict=True):
            role, _, kind = label.partition("-")
            if role == "B":
                found.append((start, end, kind))
            elif role == "I":
                found[-1] = (found[-1][0], end, kind)
    assert found == spans


def test_spans_that_cut_tokens_have_unknown_labels(tmp_path):
    rows = [
        {"text": "Anna met Tom", "spans": [[0, 4, "PER"]]},
        {"text": "New Yorkers met", "spans": [[0, 8, "LOC"], [12, 15, "X"]]},
        {"text": "one\ntwo three", "spans": [[0, 7, "X"]]},
    ]
    path = write(tmp_path / "a.jsonl", *rows)
    message = re.escape(f"{path}:2: the span 'New York' does not consist of whole tokens")
    with pytest.warns(CorpusWarning, match=f"{message}.*2 such spans"):
        corpus = corpus_of(path)
    assert labels_of(corpus) == [
        ["B-PER", "O", "O"],
        [None, None, "B-X"],
        [None],
        [None, "O"],
    ]
    with pytest.warns(CorpusWarning):
        model = adaptag.train(path, passes=5)
    with pytest.warns(CorpusWarning):
        assert model.evaluate(path).tokens == 3  # the other sentences do not count


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r":2, character \d: not JSON: .*allowed: one JSON object per line"),
        ("[" * 100_000, ":2.*: not JSON"),
        ("3", ":2: the int 3; allowed: "),
        ('{"a": 1}', ":2: the keys 'a'; allowed: "),
        ('{"text": "ab"}', ":2: a text without spans"),
        ('{"text": 3, "spans": []}', ":2: the text is the int 3; allowed: a string"),
        ('{"text": "ab", "spans": 3}', ":2: 'spans' is the int 3; allowed: a list"),
        ('{"text": "ab", "spans": "ab"}', ":2: 'spans' is the string 'ab'"),
        ('{"text": "ab", "label": ["x"]}', ":2: 'label' has the string 'x'; allowed: "),
        ('{"text": "ab", "spans": [[0, 1]]}', r":2: 'spans' has the list \[0, 1\]"),
        ('{"text": "ab", "spans": [[0, 3, "X"]]}', ":2: a span from 0 to 3; the text has 2"),
        ('{"text": "ab", "spans": [[-1, 1, "X"]]}', ":2: a span from -1 to 1"),
        ('{"text": "ab", "spans": [[1, 0, "X"]]}', ":2: a span from 1 to 0"),
        ('{"text": "ab", "spans": [[1, 1, "X"]]}', ":2: the span from 1 to 1 is empty"),
        ('{"text": "a  b", "spans": [[1, 3, "X"]]}', ":2: the span from 1 to 3 is empty or blank"),
        ('{"text": "ab", "spans": [["0", 1, "X"]]}', ":2: a span from the string '0'"),
        ('{"text": "ab", "spans": [[0, true, "X"]]}', ":2: a span from .* allowed: whole numbers"),
        ('{"text": "ab", "spans": [[0, 1, 3]]}', ":2: a label is the int 3"),
        (r'{"text": "ab", "spans": [[0, 1, "X\nY"]]}', r":2: a label is the string 'X\\nY'"),
        (r'{"tokens": ["a"], "tags": ["X\tY"]}', r":2: a tag is the string 'X\\tY'"),
        ('{"text": "abc", "spans": [[0, 2, "X"], [1, 3, "Y"]]}', ":2: the spans .* overlap"),
        ('{"text": "abc", "spans": [[0, 2, "X"], [0, 2, "Y"]]}', ":2: the spans .* overlap"),
        ('{"tokens": ["a"]}', ":2: tokens without tags"),
        ('{"tokens": "a", "tags": ["X"]}', ":2: 'tokens' is the string 'a'"),
        ('{"tokens": ["a"], "tags": []}', ":2: 1 token and 0 tags"),
        ('{"tokens": [1], "tags": ["X"]}', ":2: a token is the int 1"),
        ('{"tokens": ["a"], "tags": [1]}', ":2: a tag is the int 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(FORMS[0])}\n{line}\n")
    with pytest.raises(CorpusError, match=f"^{re.escape(str(path))}{message}"):
        corpus_of(path)


def test_files_without_text(tmp_path):
    path = tmp_path / "a.jsonl"
    for content in (b"", b"\n\n", b'{"text": " ", "spans": []}\n'):
        path.write_bytes(content)
        with pytest.raises(CorpusError, match="no sentence found"):
            corpus_of(path)
    path.write_bytes(b'{"text": "\xff"}')
    with pytest.raises(CorpusError, match=r"a.jsonl:1: invalid UTF-8"):
        corpus_of(path)
    (tmp_path / "b.json").write_bytes(b'[\n"\xff"]')
    with pytest.raises(CorpusError, match=r"b.json:2: invalid UTF-8"):
        corpus_of(tmp_path / "b.json")


def test_python_data_says_which_text_is_wrong():
    good = adaptag.TaggedText("Anna", (adaptag.Span(0, 4, "PER", "Anna"),))
    assert labels_of(corpus_of([good])) == [["B-PER"]]
    with pytest.raises(CorpusError, match="text 2: a span from 0 to 9"):
        corpus_of([good, {"text": "a", "spans": [[0, 9, "X"]]}])
    with pytest.raises(CorpusError, match="text 2: the int 3"):
        corpus_of([good, 3])


def test_lone_surrogates_and_controls_are_no_error():
    corpus = corpus_of([{"text": "a\ud800b \x00", "spans": [[0, 1, "X"]]}])
    assert tokens_of(corpus) == [["a", "\ufffd", "b"]]


@settings(deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-2, 5) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["text", "spans", "label", "tokens", "tags", "start", "end", "data",
                     "annotations", "result", "value", "labels"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)  # fmt: skip
def test_any_json_is_read_or_refused(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(value))
    for name in ("jsonl", "json", "label-studio"):
        try:
            records = list(read_records(path, name))
        except AdaptagError:
            continue
        except CorpusWarning:
            continue
        assert all(hasattr(record, "line") for record in records)


# ---- exports of annotation tools -----------------------------------------------------------------


def studio(text, spans, **more):
    result = [
        {
            "type": "labels", "from_name": "label", "to_name": "text",
            "value": {"start": a, "end": b, "text": text[a:b], "labels": [x]},
        }
        for a, b, x in spans
    ]  # fmt: skip
    return {"id": 1, "data": {"text": text}, "annotations": [{"result": result, **more}]}


def test_label_studio(tmp_path):
    path = tmp_path / "export.json"
    tasks = [
        studio(TEXT, SPANS),
        {"id": 2, "data": {"text": "not yet labelled"}, "annotations": []},
        studio("skipped", [], was_cancelled=True),
        studio("nobody here", []),
    ]
    path.write_text(json.dumps(tasks))
    expected = [*LABELS, ["O", "O"]]
    assert labels_of(corpus_of(path)) == expected
    assert labels_of(corpus_of(path, format="label-studio")) == expected
    minimal = [
        {"id": 1, "text": TEXT, "annotator": 1, "annotation_id": 3,
         "label": [{"start": a, "end": b, "text": TEXT[a:b], "labels": [x]} for a, b, x in SPANS]},
        {"id": 2, "text": "nobody here", "annotation_id": 4},
    ]  # fmt: skip
    path.write_text(json.dumps(minimal))
    assert labels_of(corpus_of(path)) == expected


def test_label_studio_counts_utf16_units(tmp_path):
    text = "😀😀 Anna"
    task = studio(text, [(3, 7, "PER")])
    value = task["annotations"][0]["result"][0]["value"]
    value.update(start=5, end=9)
    path = tmp_path / "a.json"
    path.write_text(json.dumps([task]))
    assert labels_of(corpus_of(path)) == [["O", "O", "B-PER"]]


def test_label_studio_with_several_annotations(tmp_path):
    task = studio(TEXT, SPANS)
    task["annotations"].append({"result": []})
    path = tmp_path / "a.json"
    path.write_text(json.dumps([task]))
    with pytest.warns(CorpusWarning, match="1 tasks have several annotations"):
        assert labels_of(corpus_of(path)) == LABELS
    task = studio(TEXT, SPANS)
    task["data"] = {"a": "x", "b": "y"}
    path.write_text(json.dumps([studio(TEXT, SPANS), task]))
    with pytest.raises(CorpusError, match=r"a.json, task 2: the data has 'a', 'b'; allowed: "):
        corpus_of(path)


ANN = (
    "T1\tPER 0 4\tAnna\nR1\tlives Arg1:T1 Arg2:T2\nT2\tLOC 14 22\tNew York\n"
    "#1\tAnnotatorNotes T1\tgood\nT3\tPER 24 27\tTom\n"
)


def test_brat(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_text(ANN)
    (tmp_path / "b.txt").write_text("nobody")
    (tmp_path / "b.ann").write_text("")
    assert labels_of(corpus_of(tmp_path)) == [*LABELS, ["O"]]
    assert labels_of(corpus_of(tmp_path / "a.ann")) == LABELS
    assert labels_of(corpus_of(tmp_path / "a.txt", format="brat")) == LABELS


def test_parts_of_brat_annotations_cannot_be_told(tmp_path):
    (tmp_path / "a.txt").write_text("left and right arm hurt")
    (tmp_path / "a.ann").write_text("T1\tX 0 4;15 18\tleft arm\nT2\tX 9 18\tright arm\n")
    assert labels_of(corpus_of(tmp_path)) == [[None, None, None, None, "O"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tX\tAnna", "a.ann:2: .*; allowed: T1<TAB>Label start end<TAB>text"),
        ("T1", "a.ann:2: .*; allowed: "),
        ("T1\tX 0 99\tAnna", "a.ann:2: a span from 0 to 99; the text has"),
        ("T1\tX 0 0\t", "a.ann:2: the span from 0 to 0 is empty"),
        ("T1\tX 0 6\tAnna l", "a.ann: the spans .* overlap"),
    ],
)
def test_brat_errors(tmp_path, line, message):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_text(f"T9\tPER 0 4\tAnna\n{line}\n")
    with pytest.raises(CorpusError, match=message):
        corpus_of(tmp_path)


def test_brat_needs_both_files(tmp_path):
    with pytest.raises(FileError, match=r"Is a directory, without .ann files of BRAT"):
        corpus_of(tmp_path)
    (tmp_path / "a.ann").write_text(ANN)
    with pytest.raises(FileNotFoundError, match=r"a.txt: cannot read"):
        corpus_of(tmp_path / "a.ann")
    with pytest.raises(CorpusError, match="an open file; allowed: a path"):
        corpus_of(io.BytesIO(b""), format="brat")


def test_every_format_is_in_the_help_and_in_the_error():
    from adaptag.cli.options import FormatOption

    (declared,) = FormatOption.__metadata__
    assert all(name in declared.help for name in READERS)
