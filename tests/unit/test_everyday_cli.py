"""What a new user meets: a model without a name, chosen columns, how to feed a model."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import adaptag
from adaptag.errors import ParameterError, TemplateError, counted
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template

TRAIN = "The DT x B-NP\ncat NN y I-NP\nsat VB z O\n\nA DT x B-NP\ndog NN y I-NP\n"


@pytest.fixture
def cli(program):
    Path("train.txt").write_text(TRAIN)
    Path("words.txt").write_text("小明 在 图书馆 看 书\n", encoding="utf-8")
    Path("attributes.txt").write_text("X\tword=a\tcapital\nY\tword=b\n")
    Path("documents.txt").write_text("good\ta fine film\nbad\ta dull film\n")
    return program


@pytest.mark.parametrize(
    "command", ["train train.txt", "segment train words.txt", "classify train documents.txt"]
)
def test_a_model_without_a_name(cli, command):
    done = cli(*command.split(), "--passes", "1")
    assert done.code == 0
    first, *_, last = done.err.splitlines()
    assert first == "the model is written to model.adaptag; --model chooses another file"
    assert last.startswith("model.adaptag: ")
    before = Path("model.adaptag").read_bytes()
    again = cli(*command.split(), "--passes", "2")
    assert again.code == 2
    assert again.err == (
        "adaptag: model.adaptag exists already, and no model file is named; --model "
        "model.adaptag replaces it, --model with another name keeps it\n"
    )
    assert Path("model.adaptag").read_bytes() == before
    named = cli(*command.split(), "--passes", "2", "-m", "model.adaptag")
    assert named.code == 0
    assert Path("model.adaptag").read_bytes() != before


def test_a_resumed_run_replaces_its_own_model(cli):
    command = "train", "train.txt", "--checkpoint", "c", "--resume", "c"
    assert cli(*command, "--passes", "1").code == 0
    assert cli(*command, "--passes", "2").code == 0
    assert len(adaptag.load("model.adaptag").provenance["passes"]) == 2


# ---- columns ---------------------------------------------------------------------------------


def test_only_the_chosen_columns_are_used(cli):
    assert cli("train", "train.txt", "-m", "m", "--columns", "0,2", "--passes", "1").code == 0
    model = adaptag.load("m")
    assert model.index.template.used_columns == [0, 2]
    assert model.index.n_columns == 3
    assert model.provenance["feature_settings"]["columns"] == [0, 2]
    names = {model.index.name(p) for p in range(model.index.n_predicates)}
    assert "U42-2:x" in names
    assert not any("DT" in name or "NN" in name for name in names)
    assert cli("tag", "train.txt", "-m", "m").code == 0


def test_a_model_of_words_alone_tags_raw_text(cli):
    assert cli("train", "train.txt", "-m", "m", "--columns", "0", "--passes", "9").code == 0
    Path("text").write_text("The dog sat\n")
    assert '"spans": [[0, 7, "NP"]]' in cli("tag", "--text", "text", "-m", "m").out


def test_lines_of_a_template_with_other_columns_are_left_out():
    template = Template("# a\nU1:%x[0,0]\nU2:%x[0,0]/%x[0,1]\n\nU3:%x[-1,2]\nB\n", name="t")
    chosen = template.with_columns({0, 2})
    assert [line.text for line in chosen.lines] == ["U1:%x[0,0]", "U3:%x[-1,2]", "B"]
    assert chosen.with_columns({0, 2}) == chosen
    with pytest.raises(TemplateError, match=r"^t: no line of the template has only the columns 3$"):
        template.with_columns({3})


@pytest.mark.parametrize("given", ["0,2", " 2 , 0", [0, 2], (2, 0), {0, 2}, range(0, 3, 2)])
def test_columns_are_numbers(given):
    settings = FeatureSettings(columns=given).check()
    assert settings.chosen_columns() == {0, 2}
    assert settings.record()["columns"] == [0, 2]
    assert FeatureSettings(columns=2).chosen_columns() == {2}


@pytest.mark.parametrize("given", ["", "a", "0,", "-1", "1.0", [], [0.0], [True], True, 1.5, ["0"]])
def test_other_columns_are_refused(given):
    with pytest.raises(ParameterError, match=r"columns is .*; allowed: numbers of columns from 0"):
        FeatureSettings(columns=given).check()


def test_columns_that_the_data_does_not_have():
    sentences, labels = [["a", "b"]], [["X", "Y"]]
    with pytest.raises(ParameterError, match=r"^columns: 1; <data> has feature column 0$"):
        adaptag.train(sentences, labels, columns=[0, 1])
    with pytest.raises(ParameterError, match="holds attributes, so columns cannot be chosen"):
        adaptag.train([[{"a": 1}]], [["X"]], columns=[0])


# ---- inspect ---------------------------------------------------------------------------------


def test_inspect_says_how_to_use_a_tagger(cli):
    assert cli("train", "train.txt", "-m", "m", "--passes", "1", "--columns", "0,1").code == 0
    shown = cli("inspect", "m").out
    assert "3, used: 0, 1" in shown
    assert "U00:%x[-2,0]; U01:%x[-1,0]" in shown
    assert "label scheme" in shown
    assert "adaptag tag FILE -m m\n" in shown
    assert "    The column1 column2" in shown
    assert "--text" not in shown


def test_the_example_of_inspect_is_input_of_the_model(cli):
    for arguments in (
        "train train.txt -m m --columns 0,2",
        "train train.txt -m m",
        "train attributes.txt --format attributes -m m",
        "segment train words.txt -m m",
        "classify train documents.txt -m m",
    ):
        assert cli(*arguments.split(), "--passes", "1").code == 0
        shown = cli("inspect", "m").out.splitlines()
        commands = [
            k for k, line in enumerate(shown) if line.startswith("adaptag ") and "FILE" in line
        ]
        assert commands
        for k in commands:
            first = next(n for n in range(k, len(shown)) if shown[n].endswith("such as")) + 1
            indented = itertools.takewhile(lambda line: line.startswith("    "), shown[first:])
            lines = [line.strip().replace("<TAB>", "\t") for line in indented]
            assert lines
            Path("FILE").write_text("\n".join(lines) + "\n", encoding="utf-8")
            done = cli(*shown[k].split()[1:])
            assert done.code == 0, done.err


def test_inspect_shows_the_first_lines_of_a_long_template(cli):
    Path("template").write_text("".join(f"U{k}:%x[0,0]\n" for k in range(60)))
    assert cli("train", "train.txt", "-m", "m", "-t", "template", "--passes", "1").code == 0
    assert "… 10 further lines" in " ".join(cli("inspect", "m").out.split())


# ---- numbers and their nouns -----------------------------------------------------------------


def test_counted():
    assert counted(1, "column") == "1 column"
    assert counted(0, "column") == "0 columns"
    assert counted(2000, "pass", "passes") == "2,000 passes"


def test_one_of_anything_is_in_the_singular(cli):
    Path("one").write_text("a X\n")
    said = cli("train", "one", "-m", "m", "--passes", "1").err.splitlines()
    assert said[0].startswith("1 sentence, 1 token, 1 label, ")
    with pytest.raises(ValueError, match="sentence 1, token 2: 1 column; the first token has 2"):
        adaptag.train([[("a", "b"), ("c",)]])
