"""The ready models: names in place of files, cards, and what the models say of plain text."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adaptag
from adaptag.cli.main import app
from adaptag.errors import MissingFileError, ParameterError
from adaptag.storage import ready
from adaptag.storage.ready import READY, card_of, model_file

LARGEST = pytest.importorskip("models.making", reason="needs the folder models").LARGEST
FOLDER = Path(__file__).parents[2] / "models" / "adaptag_models"
ENGLISH = "I don't think it's John's boat."
ENGLISH_LABELS = [
    ("I", "PRON"), ("do", "AUX"), ("n't", "PART"), ("think", "VERB"), ("it", "PRON"),
    ("'s", "AUX"), ("John", "PROPN"), ("'s", "PART"), ("boat", "NOUN"), (".", "PUNCT"),
]  # fmt: skip
CHINESE = "他是一位著名的音乐家，获得了三个奖项。"
CHINESE_PAIRS = [
    ("他", "PRON"), ("是", "VERB"), ("一", "NUM"), ("位", "NOUN"), ("著名", "ADJ"), ("的", "PART"),
    ("音乐", "NOUN"), ("家", "PART"), ("，", "PUNCT"), ("获得", "VERB"), ("了", "PART"),
    ("三", "NUM"), ("个", "NOUN"), ("奖项", "NOUN"), ("。", "PUNCT"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    return invoke


# ---- names ----------------------------------------------------------------------------------


def test_a_name_is_a_ready_model():
    assert adaptag.load("en-pos").kind == "model"
    assert adaptag.load(Path("zh-words")).kind == "segmenter"
    assert isinstance(adaptag.load("zh-pos"), adaptag.WordTagger)
    assert adaptag.Model.load("en-pos").tokenizer == "english"
    assert Path(model_file("en-pos")) == FOLDER / "en-pos.adaptag"


def test_a_file_of_that_name_is_the_file():
    adaptag.train([["a", "b"]], [["X", "Y"]], passes=1).save("en-pos")
    assert adaptag.load("en-pos").labels == ("X", "Y")
    assert model_file("en-pos") == "en-pos"


def test_only_the_name_itself_is_one():
    for path in ("en-pos.adaptag", "./other/en-pos", "en-pox"):
        assert model_file(path) == path
        with pytest.raises(MissingFileError, match="cannot read"):
            adaptag.load(path)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch, run):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    message = r'en-pos: .* not installed: pip install "adaptag\[models\]"'
    for load in (adaptag.load, adaptag.Model.load):
        with pytest.raises(MissingFileError, match=message):
            load("en-pos")
    with pytest.raises(MissingFileError, match=r"zh-pos: .* not installed"):
        adaptag.load("zh-pos")
    Path("t").write_text("x\n")
    assert isinstance(run("models").exception, MissingFileError)
    assert isinstance(run("segment", "cut", "t").exception, MissingFileError)


# ---- cards ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READY)
def test_a_card_says_what_the_model_is(name):
    card = card_of(name)
    path = FOLDER / f"{name}.adaptag"
    assert card["name"] == name
    assert card["bytes"] == path.stat().st_size <= LARGEST < card["full_bytes"]
    assert card["licence"] == "CC BY-SA 4.0"
    assert {source["licence"] for source in card["data"]} == {"CC BY-SA 4.0"}
    assert {score["domain"] for score in card["scores"]} >= {"in", "dev"}
    model = adaptag.load(path)
    assert card["labels"] == list(model.labels if model.kind == "model" else ())
    assert b"/home/" not in path.read_bytes()


def test_the_scores_are_those_that_were_asked_for():
    assert card_of("en-pos")["scores"][0]["value"] >= 94.5
    assert card_of("zh-words")["scores"][0]["value"] >= 93.4


def test_every_source_is_in_the_notice():
    notice = " ".join((FOLDER.parent / "NOTICE").read_text(encoding="utf-8").split())
    for name in READY:
        for source in card_of(name)["data"]:
            assert source["source"] in notice


def test_an_unknown_card():
    with pytest.raises(ParameterError, match="unknown ready model 'en-po'; did you mean 'en-pos'"):
        card_of("en-po")


def test_the_command_lists_models_and_shows_cards(run):
    listed = run("models").stdout
    assert all(name in listed for name in READY)
    assert json.loads(run("models", "--json").stdout) == {name: card_of(name) for name in READY}
    shown = " ".join(run("models", "zh-words").stdout.split())
    for text in ("CC BY-SA 4.0", "CC-CEDICT", "SIGHAN 2005 PKU", "segment cut FILE"):
        assert text in shown
    assert json.loads(run("models", "en-pos", "--json").stdout) == card_of("en-pos")


# ---- what they say --------------------------------------------------------------------------


def test_english_text():
    spans = adaptag.load("en-pos").tag_text(ENGLISH)
    assert [(span.text, span.label) for span in spans] == ENGLISH_LABELS


def test_english_text_on_the_command_line(run):
    Path("text").write_text(f"{ENGLISH}\n")
    result = json.loads(run("tag", "--text", "text", "-m", "en-pos").stdout)
    assert [(ENGLISH[a:b], label) for a, b, label in result["spans"]] == ENGLISH_LABELS


def test_chinese_words_and_their_parts_of_speech():
    words, pos = adaptag.load("zh-words"), adaptag.load("zh-pos")
    assert words.cut(CHINESE) == pos.cut(CHINESE) == [word for word, _ in CHINESE_PAIRS]
    assert pos.cut_pos(CHINESE) == CHINESE_PAIRS
    assert [(span.text, span.label) for span in pos.tag_text(CHINESE).spans] == CHINESE_PAIRS


def test_chinese_on_the_command_line(run):
    Path("text").write_text(f"{CHINESE}\n{CHINESE}", encoding="utf-8")
    spaced = " ".join(word for word, _ in CHINESE_PAIRS)
    tagged = " ".join(f"{word}/{tag}" for word, tag in CHINESE_PAIRS)
    assert run("segment", "cut", "text").stdout == f"{spaced}\n{spaced}"
    for options in (["-m", "zh-pos"], ["--tagger", "zh-pos"]):
        assert run("segment", "cut", "text", *options).stdout == f"{tagged}\n{tagged}"
    spans = json.loads(run("tag", "--text", "text", "-m", "zh-pos").stdout.split("\n")[0])["spans"]
    assert [(CHINESE[a:b], label) for a, b, label in spans] == CHINESE_PAIRS


def test_other_commands_take_names(run):
    assert "compact" in run("inspect", "en-pos").stdout
    Path("gold").write_text(" ".join(word for word, _ in CHINESE_PAIRS), encoding="utf-8")
    score = json.loads(run("segment", "evaluate", "gold", "-m", "zh-words", "--json").stdout)
    assert score["f1"] == 100
    adaptag.train([["他", "是"]], [["a", "b"]], template="U:%x[0,0]\nB", passes=1).save("own")
    Path("text").write_text(CHINESE, encoding="utf-8")
    tagged = run("tag", "--text", "text", "-m", "own", "--tokenizer", "zh-words").stdout
    assert len(json.loads(tagged)["spans"]) == len(CHINESE_PAIRS)


def test_the_names_are_those_of_the_files():
    assert {path.stem for path in FOLDER.glob("*.adaptag")} == set(READY)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(READY)
    assert ready.WORDS in READY
