"""Blocks in, output out, in this process: the output is that of the command line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.corpus.columns import ColumnCorpus
from adaptag.decoding.tagged import TagOptions
from adaptag.errors import AdaptagError, CorpusError, ParameterError

pa = pytest.importorskip("pyarrow", reason="a cluster needs PyArrow")

import pyarrow.parquet as pq  # noqa: E402

from adaptag.ray.arrow import corpus_of_lists  # noqa: E402
from adaptag.ray.blocks import process_block  # noqa: E402
from adaptag.ray.filesystems import find_inputs  # noqa: E402
from adaptag.ray.inputs import split_files  # noqa: E402
from adaptag.ray.work import Classifying, Cutting, Tagging  # noqa: E402
from tests.ray.making import COLUMNS, DOCUMENTS, REVIEWS, TAGGER_DATA, TEXT  # noqa: E402

RULES = adaptag.Constraints(at_most_once="NAME", forbidden_pairs=[["QTY", "NAME"]])
QUICK = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def loaded(models):
    return {path.name: adaptag.load(path) for path in models.iterdir()}


def outputs(work, model, path, size, threads=1):
    """The outputs of all blocks, and the counts of all of them."""
    parts, total = [], {}
    for block in split_files(find_inputs([str(path)]), size):
        out = io.BytesIO()
        counts = process_block(work, model, block, out, threads)
        total = {name: total.get(name, 0) + n for name, n in counts.items()}
        parts.append(out.getvalue())
    return parts, total


CASES = [
    (Tagging(), "tagger", COLUMNS, ["tag"]),
    (Tagging(TagOptions(marginals=True)), "tagger", COLUMNS, ["tag", "--marginals"]),
    (Tagging(TagOptions(nbest=2, legal="auto")), "tagger", COLUMNS,
     ["tag", "--nbest", "2", "--legal", "auto"]),
    (Tagging(TagOptions(constraints=RULES)), "tagger", COLUMNS,
     ["tag", "--constraints", "rules.json"]),
    (Cutting(), "segmenter", TEXT, ["segment", "cut"]),
    (Cutting(separator="/"), "segmenter", "\ufeff" + TEXT, ["segment", "cut", "--separator", "/"]),
    (Cutting(probabilities=True), "segmenter", TEXT, ["segment", "cut", "--probabilities"]),
    (Classifying(), "classifier", DOCUMENTS, ["classify", "predict"]),
    (Classifying(probabilities=True, unlabelled=True), "classifier", DOCUMENTS,
     ["classify", "predict", "--probabilities", "--unlabelled"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("work", "name", "text", "command"), CASES, ids=[" ".join(case[-1]) for case in CASES]
)
def test_blocks_of_any_size_give_the_output_of_the_command_line(
    work, name, text, command, models, loaded, program
):
    Path("x.txt").write_text(text)
    Path("rules.json").write_text(json.dumps(RULES.to_dict()))
    done = program(*command, "x.txt", "-m", models / name)
    assert (done.code, done.err) == (0, "")
    for size, threads in ((100, 1), (777, 2), (1 << 20, 1)):
        parts, _ = outputs(work, loaded[name], "x.txt", size, threads)
        assert b"".join(parts).decode() == done.out


@QUICK
@example(size=1, text=["a", "\r"])  # the carriage return is alone in its block
@given(
    size=st.integers(1, 80),
    text=st.lists(st.sampled_from(["a", "b c", "é", "", " ", "\r", "-x-"]), max_size=30),
)
def test_any_text_is_cut_alike(size, text, loaded, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(text), newline="")
    whole, _ = outputs(Cutting(), loaded["segmenter"], path, 1 << 20)
    assert b"".join(outputs(Cutting(), loaded["segmenter"], path, size)[0]) == b"".join(whole)


def test_what_is_counted(loaded, tmp_path):
    path = tmp_path / "x.txt"
    for work, name, text, counts in (
        (Tagging(), "tagger", COLUMNS,
         {"sentences": len(TAGGER_DATA), "tokens": sum(map(len, TAGGER_DATA))}),
        (Cutting(), "segmenter", TEXT, {"lines": TEXT.count("\n")}),
        (Classifying(), "classifier", DOCUMENTS, {"documents": DOCUMENTS.count("\n")}),
    ):  # fmt: skip
        path.write_text(text)
        assert outputs(work, loaded[name], path, 200)[1] == counts


def test_models_of_attributes(program):
    Path("a.txt").write_text("X\ta\tb:2\nY\tc\n\nX\ta\\:\n\nY\tc:0.5\n\n" * 5)
    assert program("train", "a.txt", "-m", "m", "--format", "attributes").code == 0
    done = program("tag", "a.txt", "-m", "m")
    model = adaptag.Model.load("m")
    assert b"".join(outputs(Tagging(), model, "a.txt", 30)[0]).decode() == done.out
    Path("b.txt").write_text("X\ta\tb:2\n\n" * 5 + "X\ta:b:\n")
    with pytest.raises(CorpusError, match=r"^b\.txt:11: value "):
        outputs(Tagging(), model, "b.txt", 12)
    with pytest.raises(ParameterError, match="for models of columns"):
        Tagging(TagOptions(marginals=True)).check(model)


# ---- JSON lines and Parquet -----------------------------------------------------------------

TABLES = [
    (Tagging(), "tagger", {"tokens": TAGGER_DATA}, lambda m, x: {"tags": m.tag(x)}),
    (Cutting(), "segmenter", {"text": TEXT.splitlines()},
     lambda m, x: {"words": m.predict([x])[0]}),
    (Classifying(), "classifier", {"text": DOCUMENTS.splitlines()},
     lambda m, x: {"label": m.predict([x])[0]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("work", "name", "data", "expected"), TABLES, ids=[case[1] for case in TABLES]
)
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_tables_get_a_column(work, name, data, expected, ending, loaded, tmp_path):
    rows = [
        {"id": k, **dict(zip(data, row, strict=True))}
        for k, row in enumerate(zip(*data.values(), strict=True))
    ]
    model = loaded[name]
    column = next(iter(data))
    wanted = [{**row, **expected(model, row[column])} for row in rows]
    path = tmp_path / f"x{ending}"
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=20)
        parts, counts = outputs(work, model, path, 2000)
        found = [row for part in parts for row in pq.read_table(io.BytesIO(part)).to_pylist()]
    else:
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text + b"\n\n")
        parts, counts = outputs(work, model, path, 2000)
        found = [json.loads(line) for line in b"".join(parts).splitlines()]
    assert found == wanted
    assert len(parts) > 1 or ending == ".jsonl.gz"
    assert len(rows) in counts.values()


def test_probabilities_of_tables(loaded):
    tagger, segmenter, classifier = (loaded[name] for name in ("tagger", "segmenter", "classifier"))
    table = pa.table({"tokens": TAGGER_DATA[:3]})
    added, _ = Tagging(TagOptions(marginals=True)).columns(tagger, table)
    for row, tokens in enumerate(TAGGER_DATA[:3]):
        best = [max(p.values()) for p in tagger.marginals(tokens)]
        assert added["probabilities"][row].as_py() == pytest.approx(best, abs=1e-6)
    table = pa.table({"text": ["老师在公园", "good"]})
    added, _ = Cutting(probabilities=True).columns(segmenter, table)
    words = [word for word in segmenter.words("老师在公园") if not word.text.isspace()]
    assert added["words"][0].as_py() == [word.text for word in words]
    assert added["probabilities"][0].as_py() == pytest.approx(
        [word.probability for word in words], abs=1e-6
    )
    added, _ = Classifying(probabilities=True).columns(classifier, table)
    assert added["label"].to_pylist() == classifier.predict(["老师在公园", "good"])
    chances = added["probabilities"].to_pylist()[1]
    assert set(chances) == set(classifier.labels)
    assert sum(chances.values()) == pytest.approx(1)
    records, _ = Classifying(probabilities=True).records(classifier, [{"text": "good"}])
    assert records[0]["probabilities"] == pytest.approx(chances, abs=1e-6)


def test_tables_of_no_rows(loaded, tmp_path):
    table = pa.table({"tokens": pa.array([], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "x.parquet")
    (part,), counts = outputs(Tagging(), loaded["tagger"], tmp_path / "x.parquet", 100)
    assert pq.read_table(io.BytesIO(part)).schema == pa.schema(
        {"tokens": pa.list_(pa.field("element", pa.string())), "tags": pa.list_(pa.string())}
    )
    assert counts == {"sentences": 0, "tokens": 0}
    empty = pa.table({"tokens": [[], []]})
    assert Tagging().columns(loaded["tagger"], empty)[0]["tags"].to_pylist() == [[], []]


@given(
    rows=st.lists(st.lists(st.text("aé中", max_size=3), max_size=4), min_size=1, max_size=6),
    first=st.integers(0, 5),
    large=st.booleans(),
)
def test_lists_of_arrow_are_a_corpus(rows, first, large):
    kind = pa.large_list(pa.large_string()) if large else pa.list_(pa.string())
    array = pa.array(rows, kind)
    sliced = array.slice(min(first, len(rows)))
    corpus = corpus_of_lists(pa.table({"a": sliced, "b": sliced}), ["a", "b"])
    tokens = [[(token, token) for token in row] for row in rows[first:]]
    expected = ColumnCorpus.from_sentences(tokens)
    assert np.array_equal(corpus.sentences, expected.sentences)
    for got, want in zip(corpus.cells.tolist(), expected.cells.tolist(), strict=True):
        assert [bytes(corpus.text[a:b]) for a, b in got] == [
            bytes(expected.text[a:b]) for a, b in want
        ]


def test_tokens_of_arrow_are_not_copied():
    array = pa.array([["a", "bc"], ["d"]])
    corpus = corpus_of_lists(pa.table({"tokens": array}), ["tokens"])
    assert corpus.text.ctypes.data == array.values.buffers()[2].address


# ---- bad input ------------------------------------------------------------------------------

BAD = [
    ("x.txt", b"a\n\n" * 30 + b"b c\n\n" + b"a\n" * 9, Tagging(), "tagger",
     r"^x\.txt:61: 2 columns; line 1 has 1$"),
    ("x.txt", b"a\n\n" * 30 + b"\xff\n\n", Tagging(), "tagger", r"^x\.txt:61: invalid UTF-8"),
    ("x.txt", "文\n".encode() * 30 + b"\xff\n\n", Cutting(), "segmenter",
     r"^x\.txt:31: invalid UTF-8; allowed: UTF-8 text$"),
    ("x.txt", b"good\n" * 30 + b"bad\0\n", Classifying(), "classifier",
     r"^x\.txt:31: a NUL character"),
    ("x.jsonl", b'{"tokens": ["a"]}\n' * 9 + b'{"tokens": 3}\n', Tagging(), "tagger",
     r"^x\.jsonl:10: 'tokens' is 3; expected a list$"),
    ("x.jsonl", b'{"tokens": ["a"]}\n' * 9 + b'{"tokens": [["a", "b", "c"]]}\n',
     Tagging(), "tagger", r"^x\.jsonl:10: .*3 columns"),
    ("x.jsonl", b'{"text": "a"}\n' * 9 + b'{"text"\n', Cutting(), "segmenter",
     r"^x\.jsonl:10: not JSON: "),
    ("x.jsonl", b'{"text": "a"}\n' * 9 + b'[1]\n', Cutting(), "segmenter",
     r"^x\.jsonl:10: \[1\]; expected a JSON object$"),
    ("x.jsonl", b'{"words": "a"}\n', Classifying(), "classifier",
     r"^x\.jsonl:1: no field 'text'; there are: words$"),
    ("x.txt.gz", gzip.compress(b"a\n\n" * 30)[:-9], Tagging(), "tagger",
     r"^x\.txt\.gz: damaged compressed file: "),
    ("x.txt.zst", b"nothing", Tagging(), "tagger", r"^x\.txt\.zst: damaged compressed file: "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "work", "model", "message"),
    BAD,
    ids=[f"{case[0]}-{k}" for k, case in enumerate(BAD)],
)
@pytest.mark.parametrize("size", [37, 1 << 20])
def test_bad_input_is_located(
    name, data, work, model, message, size, loaded, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    with pytest.raises(AdaptagError, match=message):
        outputs(work, loaded[model], name, size)


def test_bad_rows_of_parquet(loaded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rows, message in (
        ([["a"]] * 25 + [None], "x.parquet: row 25, counted from 0: column 'tokens' holds None"),
        ([["a"]] * 25 + [["b", None]],
         "x.parquet: row 25, counted from 0: column 'tokens' holds None; expected a string"),
    ):  # fmt: skip
        pq.write_table(pa.table({"tokens": rows}), "x.parquet", row_group_size=10)
        with pytest.raises(CorpusError) as raised:
            outputs(Tagging(), loaded["tagger"], "x.parquet", 1)
        assert str(raised.value) == message
    pq.write_table(pa.table({"words": [["a"]]}), "x.parquet")
    with pytest.raises(CorpusError, match=r"^x\.parquet: row 0, .*unknown column 'tokens'; "):
        outputs(Tagging(), loaded["tagger"], "x.parquet", 1)
    pq.write_table(pa.table({"tokens": [1]}), "x.parquet")
    with pytest.raises(CorpusError, match=r"'tokens' is of type int64; expected lists of strings"):
        outputs(Tagging(), loaded["tagger"], "x.parquet", 1)


def test_all_blocks_of_a_file_have_the_columns_of_its_first_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # by itself, the second sentence would be one of two columns
    Path("x.txt").write_text("# id\na\tb\n\nc d\te f\n\n" + "g h\n\n")
    model = adaptag.train([[("a", "b")], [("c", "d")]], [["X"], ["Y"]], passes=2)
    with pytest.raises(CorpusError) as raised:
        outputs(Tagging(format=adaptag.corpus.columns.ColumnFormat(comment="#")), model, "x.txt", 8)
    assert str(raised.value) == "x.txt:6: 1 column; line 2 has 2"


def test_models_are_views_of_their_bytes(models):
    data = np.fromfile(models / "tagger", np.uint8)
    data.flags.writeable = False
    model = adaptag.Model.from_bytes(data)
    assert np.shares_memory(model.weights, data)
    assert model.tag(TAGGER_DATA[0]) == adaptag.Model.load(models / "tagger").tag(TAGGER_DATA[0])
    small = np.frombuffer(
        adaptag.Segmenter.load(models / "segmenter").compact(prune=0).to_bytes(), np.uint8
    )
    assert adaptag.Segmenter.from_bytes(small).cut("老师在公园看书")
    assert DocumentClassifier.from_bytes(np.fromfile(models / "classifier", np.uint8)).predict(
        REVIEWS
    )
