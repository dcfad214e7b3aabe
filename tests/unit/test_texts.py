"""Raw text: models tag it, commands read and write it, and scores compare spans."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adaptag
from adaptag import parallel
from adaptag.corpus import text
from adaptag.decoding import texts as texts_module
from adaptag.errors import AdaptagError, CorpusError, ModelError, ParameterError
from adaptag.evaluation import evaluate_spans

DATA = [
    {"text": "Anna lives in Paris.", "spans": [[0, 4, "PER"], [14, 19, "LOC"]]},
    {
        "text": "In Berlin, Tom met Anna Smith",
        "spans": [[3, 9, "LOC"], [11, 14, "PER"], [19, 29, "PER"]],
    },
    {"text": "Nobody lives here.", "spans": []},
] * 2
WORDS = [["我们", "爱", "北京"], ["北京", "很", "大"]]
PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import start; start()"]
LINES = ["Tom lives in Berlin.", "", "Anna Smith met Tom in Paris", "  nobody  "]


@pytest.fixture(scope="module")
def model():
    return adaptag.train(DATA, passes=20)


def triples(tagged):
    return [(span.start, span.end, span.label) for span in tagged]


def test_spans_have_places_text_and_the_probability_of_their_segment(model):
    text = "Tom lives in Berlin.\n\nAnna Smith met Tom"
    tagged = model.tag_text(text)
    assert triples(tagged) == [(0, 3, "PER"), (13, 19, "LOC"), (22, 32, "PER"), (37, 40, "PER")]
    assert [span.text for span in tagged] == ["Tom", "Berlin", "Anna Smith", "Tom"]
    assert tagged.text == text
    assert [text[a:b] for a, b in tagged.tokens][3:6] == ["Berlin", ".", "Anna"]
    segments = [
        *model.segments(["Tom", "lives", "in", "Berlin", "."]),
        *model.segments(["Anna", "Smith", "met", "Tom"]),
    ]
    assert [span.probability for span in tagged] == [s.probability for s in segments]


def test_many_texts_are_tagged_like_each_of_them(model, monkeypatch):
    monkeypatch.setattr(texts_module, "PART", 2)
    texts = [*LINES, "a\nb", "漢字"] * 60
    expected = [model.tag_text(text) for text in texts]
    for threads in (1, 3):
        assert model.tag_texts(iter(texts), threads=threads) == expected
    fast = model.tag_texts(texts, probabilities=False)
    assert [triples(tagged) for tagged in fast] == [triples(tagged) for tagged in expected]
    assert {span.probability for tagged in fast for span in tagged} == {None}
    assert model.tag_texts([]) == []


def test_labels_that_mark_no_chunks_give_a_span_for_each_token():
    tags = [["QTY", "UNIT", "O"], ["QTY", "UNIT", "O"]]
    model = adaptag.train([["2", "cups", "of"], ["1", "cup", "of"]], tags)
    tagged = model.tag_text("2 cups of")
    assert triples(tagged) == [(0, 1, "QTY"), (2, 6, "UNIT")]
    table = model.marginals(["2", "cups", "of"])
    assert [span.probability for span in tagged] == [table[0]["QTY"], table[1]["UNIT"]]
    assert triples(model.tag_texts(["2 cups"], probabilities=False)[0]) == triples(tagged)


def test_odd_text_is_tagged(model):
    text = "\ud800 Tom \x00\u200d👩\u200d👧"
    assert model.tag_text(text).text == text
    assert model.tag_text("").spans == ()


def test_models_that_need_more_than_the_text_say_so():
    two = adaptag.train([[("a", "X"), ("b", "Y")]], [["A", "B"]], template="U:%x[0,1]")
    with pytest.raises(ParameterError, match="the template of the model needs 2 columns"):
        two.tag_text("a b")
    one = adaptag.train([[("a", "X"), ("b", "Y")]], [["A", "B"]], template="U:%x[0,0]")
    assert len(one.tag_text("a b")) == 2
    attributes = adaptag.train([[{"w": "a"}]], [["A"]])
    with pytest.raises(ParameterError, match="trained on attributes; it cannot tag raw text"):
        attributes.tag_text("a b")


def test_what_is_no_text_is_refused(model):
    with pytest.raises(CorpusError, match="text 2 is the int 3; allowed: a string"):
        model.tag_texts(["a", 3])
    with pytest.raises(CorpusError, match="texts is the string 'a'"):
        model.tag_texts("a")


# ---- the tokenizer of a model --------------------------------------------------------------------


def test_a_model_keeps_its_tokenizer(model, tmp_path):
    assert model.tokenizer == "unicode"
    assert "text" not in model.configuration
    data = [{"text": "ab cd", "spans": [[0, 1, "X"]]}]
    characters = adaptag.train(data, tokenizer="characters", dev=data)
    assert len(characters.tag_text("ab").tokens) == 2
    path = tmp_path / "m.adaptag"
    characters.save(path)
    assert adaptag.load(path).tokenizer == "characters"
    assert adaptag.load(path).compact(prune=0).tokenizer == "characters"
    assert characters.evaluate(data).tokens == 4
    assert len(characters.tag_text("ab cd", tokenizer="whitespace").tokens) == 2
    grown = adaptag.train(data, start=characters, passes=1)
    assert grown.tokenizer == "characters"


def test_a_dataset_keeps_its_tokenizer(tmp_path):
    data = [{"text": "ab cd", "spans": [[0, 1, "X"]]}]
    path = tmp_path / "d.adaptag"
    adaptag.encode(data, tokenizer="characters").save(path)
    assert adaptag.train(path, dev=data).tokenizer == "characters"
    with pytest.raises(ParameterError, match="encoded with the tokenizer characters, not unicode"):
        adaptag.train(path, tokenizer="unicode")


def test_a_segmenter_must_be_given_again():
    segmenter = adaptag.Segmenter.train(WORDS, passes=9)
    data = [{"text": "我们爱北京", "spans": [[3, 5, "LOC"]]}]
    model = adaptag.train(data, tokenizer=segmenter, dev=data)
    assert model.tokenizer == "segmenter"
    assert triples(model.tag_text("我们爱北京", tokenizer=segmenter)) == [(3, 5, "LOC")]
    assert model.evaluate(data, tokenizer=segmenter).score == 100
    for use in (lambda: model.tag_text("北京"), lambda: model.evaluate(data)):
        with pytest.raises(ParameterError, match="the tokenizer is a segmenter; give it"):
            use()


def test_a_wrong_tokenizer_in_a_file_is_refused(model):
    from dataclasses import replace

    for section in ({"tokenizer": "x"}, {}, {"tokenizer": None}):
        broken = replace(model, configuration={**model.configuration, "text": section})
        with pytest.raises(ModelError, match="the text is configured as"):
            adaptag.Model.from_bytes(broken.to_bytes())
    with pytest.raises(ParameterError, match="unknown tokenizer 'x'"):
        adaptag.train(DATA, tokenizer="x")
    with pytest.raises(ParameterError, match="unknown tokenizer 'x'"):
        adaptag.train([["a"]], [["X"]], tokenizer="x")


# ---- scores of spans -----------------------------------------------------------------------------


def test_spans_are_scored_by_characters():
    gold = [{"text": "Anna in Rome", "spans": [[0, 4, "PER"], [8, 12, "LOC"]]}]
    guess = [{"text": "Anna in Rome", "spans": [[0, 4, "PER"], [5, 12, "LOC"]]}]
    result = adaptag.evaluate(gold, guess)
    assert (result.chunks.correct, result.chunks.predicted, result.chunks.gold) == (1, 2, 2)
    assert result.by_type["PER"].f1 == 100
    assert result.by_type["LOC"].f1 == 0
    assert (result + result).chunks.gold == 4
    with pytest.raises(AdaptagError, match="1 gold texts but 2 predicted ones"):
        adaptag.evaluate(gold, guess * 2)
    with pytest.raises(AdaptagError, match="text 1: the string 'Anna in Rome' in the gold data"):
        adaptag.evaluate(gold, [{"text": "x", "spans": []}])
    assert evaluate_spans([], []).tokens == 0


def test_tagged_texts_can_be_trained_on_and_scored(model):
    tagged = model.tag_texts([item["text"] for item in DATA])
    assert adaptag.evaluate(DATA, tagged).score == model.evaluate(DATA).score == 100
    again = adaptag.train(tagged, passes=20)
    assert triples(again.tag_text(LINES[0])) == triples(model.tag_text(LINES[0]))


# ---- commands ------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, model):
    model.save(tmp_path / "m.adaptag")
    lines = [json.dumps({**item, "id": n}) + "\n" for n, item in enumerate(DATA)]
    (tmp_path / "d.jsonl").write_text("".join(lines))
    (tmp_path / "t.txt").write_text("\n".join(LINES))
    return tmp_path


@pytest.fixture
def call(program):
    """Run a command that should succeed: what it writes."""

    def run(*words):
        done = program(*words)
        assert done.code == 0, done.err
        return done.out

    return run


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_tag_text(call, files, model):
    out = files / "out.jsonl"
    call("tag", "--text", files / "t.txt", "-m", files / "m.adaptag", "-o", out)
    found = lines_of(out)
    assert [item["text"] for item in found] == LINES
    for item, line in zip(found, LINES, strict=True):
        tagged = model.tag_text(line)
        assert item["spans"] == [list(triple) for triple in triples(tagged)]
        assert item["probabilities"] == [round(span.probability, 6) for span in tagged]


def test_tag_json_lines_keeps_other_fields(call, files):
    out = files / "out.jsonl"
    call("tag", files / "d.jsonl", "-m", files / "m.adaptag", "-o", out)
    assert [item["id"] for item in lines_of(out)] == list(range(len(DATA)))
    assert [item["spans"] for item in lines_of(out)] == [item["spans"] for item in DATA]
    call("tag", "--json-lines", files / "d.jsonl", "-m", files / "m.adaptag", "-o", files / "2")
    assert (files / "2").read_bytes() == out.read_bytes()


def test_parts_and_long_lines_are_written_in_order(call, files, monkeypatch):
    monkeypatch.setattr(parallel, "BYTES", 1)
    monkeypatch.setattr(parallel, "PART", 300)
    monkeypatch.setattr(text, "LONG", 400)
    lines = [f"Tom {n} lives in Berlin" for n in range(300)]
    lines[150] = "Anna " * 500  # comes in pieces
    (files / "t.txt").write_text("\n".join(lines))
    for threads in (1, 2):
        out = files / f"out{threads}"
        words = ("--text", files / "t.txt", "-m", files / "m.adaptag", "-o", out)
        call("tag", *words, "--threads", threads)
    assert [item["text"] for item in lines_of(out)] == lines
    assert (files / "out1").read_bytes() == out.read_bytes()


def test_a_pipe_is_tagged_line_by_line(files):
    command = [
        sys.executable,
        "-c",
        "from adaptag.cli.program import start; start()",
        "tag",
        "--text",
        "-",
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, "-m", files / "m.adaptag"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        for line in LINES:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["text"] == line
        process.stdin.close()
        assert process.wait() == 0


def test_train_tag_and_evaluate_by_commands(call, files):
    data, model_file, out = files / "d.jsonl", files / "new.adaptag", files / "out.jsonl"
    call("train", data, "-m", model_file, "--dev", data, "--passes", 20, "--tokenizer", "unicode")
    call("tag", data, "-m", model_file, "-o", out)
    assert json.loads(call("evaluate", data, out, "--json"))["score"] == 100
    assert json.loads(call("evaluate", data, "-m", model_file, "--json"))["score"] == 100
    assert "spans with the same start, end and label are right" in call("evaluate", data, out)
    call("encode", data, "-o", files / "set", "--tokenizer", "characters")
    call("train", files / "set", "-m", model_file, "--passes", 2)
    assert adaptag.load(model_file).tokenizer == "characters"


def test_a_segmenter_file_as_tokenizer(call, program, files):
    adaptag.Segmenter.train(WORDS, passes=9).save(files / "seg")
    (files / "zh.jsonl").write_text('{"text": "我们爱北京", "spans": [[3, 5, "LOC"]]}\n')
    new, out = files / "new.adaptag", files / "out"
    words = ("--tokenizer", files / "seg")
    call("train", files / "zh.jsonl", "-m", new, "--dev", files / "zh.jsonl", *words)
    assert adaptag.load(new).tokenizer == "segmenter"
    call("tag", files / "zh.jsonl", "-m", new, "-o", out, *words)
    assert lines_of(out)[0]["spans"] == [[3, 5, "LOC"]]
    call("evaluate", files / "zh.jsonl", "-m", new, *words)
    done = program("tag", files / "zh.jsonl", "-m", new, "-o", out)
    assert (done.code, "give it: tokenizer=" in done.err) == (2, True)


def test_compare_and_tune_take_labelled_texts(files):
    from adaptag.experiments.comparison import compare
    from adaptag.experiments.tuning import tune

    path = files / "d.jsonl"
    comparison = compare(path, path, algorithms=["adf"], passes=2, seeds=[1], tokenizer="unicode")
    assert comparison.metric == "chunk F1"
    tuning = tune(path, folds=2, passes=2, jobs=1, space={"rate": [0.1]}, tokenizer="characters")
    assert tuning.best is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tag", "t.txt", "--text", "--json-lines"), "--text cannot be combined"),
        (("tag", "t.txt", "--text", "--marginals"), "are for column files"),
        (("tag", "t.txt", "--text", "--tokenizer", "x"), "unknown tokenizer 'x'"),
        (("tag", "t.txt", "--tokenizer", "unicode"), "--tokenizer needs --text"),
        (("tag", "bad.jsonl"), "bad.jsonl:2: .*; allowed: an object with a string 'text'"),
        (("evaluate", "d.jsonl", "d.jsonl", "-m", "m.adaptag"), "give either PREDICTED or --model"),
        (("train", "d.jsonl", "--stream"), "a stream of jsonl cannot be read; allowed: columns"),
        (("evaluate", "d.jsonl"), "need PREDICTED, or --model"),
        (("evaluate", "d.jsonl", "d.jsonl", "--tokenizer", "x"), "--tokenizer requires --model"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_commands_say_why(program, words, message):
    Path("bad.jsonl").write_text('{"text": "a"}\n{"txt": "b"}\n')
    model = () if "evaluate" in words and "-m" not in words else ("-m", "m.adaptag")
    done = program(*words, *model)
    assert done.code == 2
    assert re.match(f"adaptag: .*{message}", done.err)
