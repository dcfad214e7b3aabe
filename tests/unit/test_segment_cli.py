from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from adaptag.corpus import text as text_module
from adaptag.errors import counted
from adaptag.segmentation.segmenter import Segmenter
from tests.conftest import Done
from tests.unit.making import Edges, characters
from tests.unit.test_segmenter import TEXT

PLAIN = "我们在北京。\n他 在　大学\r\n\n我喜欢学生"
CUT = "我们 在 北京。\n他 在 大学\r\n\n我 喜欢 学生"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.adaptag"
    train = [[*words, "。"] for words in map(str.split, TEXT.splitlines())]
    Segmenter.train(train, passes=20).save(path)
    return path


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train.txt").write_text(TEXT)
    Path("text").write_bytes(PLAIN.encode())
    return partial(program, "segment")


# ---- train ----------------------------------------------------------------------------------


def test_train_writes_a_model_and_says_what_it_does(cli):
    done = cli("train", "train.txt", "-m", "m", "--passes", 2)
    assert (done.code, done.out) == (0, "")
    said = done.err.splitlines()
    assert said[0].startswith("8 sentences, 34 words, 59 characters, read in ")
    assert said[1] == "learning rate 0.1 (auto)"
    assert [line.split()[:2] for line in said[2:4]] == [["pass", "1"], ["pass", "2"]]
    assert re.fullmatch(r"m: 16 words, 282 features, \d+\.\d kB, \d+\.\d\d s in all", said[4])
    assert Path("m").read_bytes() == Segmenter.train("train.txt", passes=2).to_bytes()


def test_options_reach_training(cli):
    done = cli(
        "train", "train.txt", "-m", "m", "--tags", "bmes", "--fold", "width", "--cutoff", 2,
        "--word-cutoff", 1, "--edge-cutoff", 3, "--edge-share", 0.5, "-a", "sgd", "--rate", 0.05,
        "--seed", 7, "--passes", 2,
    )  # fmt: skip
    assert done.code == 0
    found = Segmenter.load("m")
    assert found.tags == "bmes"
    assert found.model_.index.features == characters("width", 2, 1, Edges(3, 0.5))
    origin = found.model_.provenance
    assert (origin["algorithm"], origin["seed"], len(origin["passes"])) == ("sgd", 7, 2)
    assert origin["parameters"]["rate"] == 0.05


def test_plain_edges(cli):
    assert cli("train", "train.txt", "-m", "m", "--plain-edges", "--passes", 1).code == 0
    found = Segmenter.load("m")
    assert found.model_.index.features.plain_edges
    assert found.model_.index.n_of_kind[1] == 1


def test_dev_data_and_the_log(cli):
    done = cli(
        "train", "train.txt", "-m", "m", "--dev", "train.txt", "--patience", 2, "--log", "log"
    )
    assert done.code == 0
    best = re.search(r"^best dev F1 (\d+\.\d\d), in pass (\d+)$", done.err, re.MULTILINE)
    origin = Segmenter.load("m").model_.provenance
    assert int(best[2]) == origin["best_pass"]
    assert best[1] == "100.00"
    events = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert events[0]["event"] == "start"
    assert (events[-1]["event"], events[-1]["model"]) == ("end", "m")


def test_training_data_from_elsewhere(cli):
    Path("train.gz").write_bytes(gzip.compress(TEXT.encode()))
    files = []
    for name in ("train.txt", "train.gz", "-"):
        assert cli("train", name, "-m", "m", "--passes", 1, stdin=TEXT.encode()).code == 0
        files.append(Path("m").read_bytes())
    assert files[0] == files[1] == files[2]


# ---- cut ------------------------------------------------------------------------------------


def test_cut_keeps_lines_and_puts_spaces(cli, saved):
    done = cli("cut", "text", "-m", saved)
    assert (done.code, done.err) == (0, "")
    assert done.out.replace("。", " 。").replace("  ", " ") == CUT.replace("。", " 。")
    assert cli("cut", "-", "-m", saved, stdin=PLAIN.encode()).out == done.out
    assert cli("cut", "text", "-m", saved, "-o", "out", "--threads", 1) == Done(0, "", "")
    assert Path("out").read_bytes().decode() == done.out
    Path("text.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert cli("cut", "text.gz", "-m", saved).out == done.out


@pytest.mark.parametrize("separator", ["/", "  ", "", "\t"])
def test_separators(cli, saved, separator):
    Path("one").write_text("我们在北京\n")
    done = cli("cut", "one", "-m", saved, "--separator", separator)
    assert done.out == separator.join(["我们", "在", "北京"]) + "\n"


def test_probabilities(cli, saved):
    Path("two").write_text("我们在 北京\n\n大学")
    done = cli("cut", "two", "-m", saved, "--probabilities")
    lines = done.out.split("\n")
    assert [line.partition("\t")[0] for line in lines] == ["我们", "在", "北京", "", "", "大学", ""]
    words = [word for word in Segmenter.load(saved).words("我们在 北京") if word.text != " "]
    for line, word in zip(lines, words, strict=False):
        assert line == f"{word.text}\t{word.probability:.6f}"


def test_dictionaries(cli, saved):
    Path("one").write_text("我们在北京大学\n")
    Path("a").write_text("北京大学\tforce\n")
    Path("b").write_text("们在\tforce\n")
    done = cli("cut", "one", "-m", saved, "-d", "a")
    assert done.out == "我们 在 北京大学\n"
    done = cli("cut", "one", "-m", saved, "-d", "a", "--dictionary", "b")
    assert done.out == "我 们在 北京大学\n"


@pytest.mark.parametrize("long", [1 << 20, 8])
def test_the_size_of_blocks_does_not_matter(cli, saved, monkeypatch, long):
    """Where a long line comes in pieces, each is cut for itself."""
    monkeypatch.setattr(text_module, "LONG", long)
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (5,))
    text = "我们在北京，他们在上海，\n他在大学，我喜欢学生\n"
    done = cli("cut", "-", "-m", saved, stdin=text.encode())
    assert done.out.replace(" ", "") == text
    assert [line.split()[0] for line in done.out.splitlines()] == ["我们", "他"]
    assert not re.search("  |^ ", done.out, re.MULTILINE)


def test_no_separator_stands_before_a_line_end(cli, saved, monkeypatch):
    monkeypatch.setattr(text_module, "LONG", 4)
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (18,))
    done = cli("cut", "-", "-m", saved, stdin="他们在北京，\n他\n".encode())
    assert re.sub(" +", " ", done.out) in ("他们 在 北京 ，\n他\n", "他们 在 北京，\n他\n")


def test_help_names_all_commands():
    code = "from adaptag.cli.program import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "segment", "--help"], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    for command in (b"train", b"cut", b"evaluate", b"new-words"):
        assert command in done.stdout


# ---- evaluate -------------------------------------------------------------------------------


def test_evaluate_a_model(cli, saved):
    done = cli("evaluate", "train.txt", "-m", saved, "--json")
    score = json.loads(done.out)
    wanted = Segmenter.load(saved).evaluate("train.txt")
    assert (done.code, score) == (0, wanted.to_dict())
    assert score["gold"] == 34
    assert score["oov"] == 0
    table = cli("evaluate", "train.txt", "-m", saved)
    assert f"{wanted.f1:.2f}" in table.out
    assert "34 gold words" in table.out


def test_evaluate_with_new_words_and_dictionaries(cli, saved):
    Path("gold").write_text("我们 在 东海大学\n")
    Path("words").write_text("东海大学 force\n")
    score = json.loads(cli("evaluate", "gold", "-m", saved, "-d", "words", "--json").out)
    assert (score["f1"], score["oov"], score["oov_correct"]) == (100, 1, 1)
    done = cli("evaluate", "gold", "-m", saved, "--new-words", "--json")
    assert json.loads(done.out)["gold"] == 3


def test_evaluate_two_files(cli):
    Path("gold").write_text("我们 在 北京\n\nＡＢ １２\n")
    Path("found").write_text("我们 在 北 京\nＡＢ １２\n")
    Path("list").write_text("我们 北京\nAB\n34")

    def scored(*arguments):
        return json.loads(cli("evaluate", "gold", "found", "--json", *arguments).out)

    score = scored()
    assert (score["correct"], score["predicted"], score["gold"], score["oov"]) == (4, 6, 5, 0)
    oov = {
        fold: scored("--words", "list", "--fold", fold)["oov"]
        for fold in ("none", "width", "types")
    }
    assert oov == {"none": 3, "width": 2, "types": 1}
    assert scored("--words", "list")["oov_correct"] == 3


# ---- new words ------------------------------------------------------------------------------


def test_new_words(cli, saved):
    Path("some").write_text("我们在东海\n他在东海\n")
    found = Segmenter.load(saved).new_words(["我们在东海\n", "他在东海\n"], threshold=0.1)
    assert "东海" in [word.text for word in found.new_words]
    arguments = ("new-words", "some", "-m", saved, "--threshold", 0.1)
    done = cli(*arguments, "-o", "dictionary", "--segmented", "cut", "--json")
    assert done.code == 0
    assert json.loads(done.out) == found.to_dict()
    assert Path("dictionary").read_text() == found.dictionary()
    wanted = "".join(" ".join(w for w in words if w != "\n") + "\n" for words in found.segmentation)
    assert Path("cut").read_text() == wanted
    table = cli(*arguments, "--show", 1)
    assert "东海" in table.out
    assert counted(len(found.new_words), "new word") in table.out
    assert json.loads(cli(*arguments, "--rounds", 1, "--json").out)["rounds"] == 1
    done = cli("cut", "some", "-m", saved, "-d", "dictionary")
    assert (done.code, done.out.splitlines()[1]) == (0, "他 在 东海")


def test_words_of_a_dictionary_are_not_new(cli, saved):
    Path("some").write_text("他在东海\n")
    Path("words").write_text("东海 force\n")
    done = cli("new-words", "some", "-m", saved, "-d", "words", "--json", "--threshold", 0)
    assert "东海" not in [word["text"] for word in json.loads(done.out)["new_words"]]


# ---- wrong input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train no -m m", "no: cannot read: No such file or directory"),
        ("train bad -m m", "bad:2: invalid UTF-8"),
        ("train empty -m m", "empty:1: no sentence found; the file is empty"),
        ("train train.txt -m m --tags bios", "tags is 'bios'; allowed: bie, bies, bmes"),
        ("train train.txt -m m --fold x", "fold is 'x'; allowed: none, width, types"),
        ("train train.txt -m no/m", "no/m: cannot write: No such file or directory"),
        ("train train.txt -m m -a x", "unknown algorithm 'x'"),
        ("train train.txt -m m --dev no", "no: cannot read: No such file or directory"),
        ("cut no -m MODEL", "no: cannot read: No such file or directory"),
        ("cut text -m no", "no: cannot read: No such file or directory"),
        ("cut text -m train.txt", "train.txt: not an adaptag segmenter"),
        ("cut bad -m MODEL", "bad:2: invalid UTF-8; allowed: UTF-8 text"),
        ("cut text -m MODEL -d words", "words:2: weight 'x'; allowed: -1000 to 1000"),
        ("cut text -m MODEL -d no", "no: cannot read"),
        ("cut text -m MODEL -o no/o", "no/o: cannot write"),
        ("evaluate train.txt", "give either PREDICTED or --model"),
        ("evaluate train.txt train.txt -m MODEL", "give either PREDICTED or --model"),
        ("evaluate train.txt train.txt --new-words", "--new-words and --dictionary require"),
        ("evaluate train.txt train.txt -d words", "--new-words and --dictionary require --model"),
        ("evaluate train.txt -m MODEL --words words", "--words cannot be combined with --model"),
        ("evaluate train.txt train.txt --words words --fold x", "unknown fold 'x'"),
        (
            "evaluate train.txt text",
            "train.txt and text, sentence 1: gold and predicted words are of different texts: "
            "the string '",
        ),
        ("cut text -m MODEL -d bad", "bad:2: invalid UTF-8; allowed: a dictionary in UTF-8\n"),
        ("new-words text -m MODEL -d bad --dictionary-format x", "unknown format 'x'"),
        ("evaluate train.txt -m MODEL -d bad --dictionary-format x", "unknown format 'x'"),
        ("evaluate no -m MODEL", "no: cannot read"),
        ("new-words no -m MODEL", "no: cannot read"),
        ("new-words text -m MODEL --threshold 1", "threshold is 1.0; allowed: 0 to 1, without 1"),
        ("new-words text -m MODEL -o no/o", "no/o: cannot write"),
        ("new-words text -m MODEL -d words", "words:2: weight 'x'"),
    ],
)
def test_bad_input_ends_with_a_message(cli, saved, arguments, message):
    Path("bad").write_bytes("我们\n".encode() + b"\xff\n")
    Path("empty").write_text("\n")
    Path("words").write_text("我们\n你们 x\n")
    done = cli(*(saved if word == "MODEL" else word for word in arguments.split()))
    assert done.code == 2
    assert done.err.splitlines(keepends=True)[-1].startswith(f"adaptag: {message}")
    assert not Path("m").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        "train train.txt -m m --cutoff 0",
        "train train.txt -m m --word-cutoff -1",
        "train train.txt -m m --edge-share 1.5",
        "train train.txt -m m --edge-cutoff 0",
        "cut",
        "cut text -m MODEL --threads 0",
        "new-words text -m MODEL --threshold 2",
        "new-words text -m MODEL --rounds 0",
        "nonsense",
    ],
)
def test_wrong_usage(cli, saved, arguments):
    done = cli(*(saved if word == "MODEL" else word for word in arguments.split()))
    assert (done.code, done.out) == (2, "")


def test_a_failure_leaves_the_old_output(cli, saved):
    Path("bad").write_bytes("我们\n".encode() * 3 + b"\xff\n")
    Path("out").write_text("old")
    assert cli("cut", "bad", "-m", saved, "-o", "out").code == 2
    assert Path("out").read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "spaced", "-m", "m", "--plain-edges", "--edge-cutoff", "2"],
            "plain_edges leaves no edge",
        ),
        (["evaluate", "spaced", "-m", "MODEL", "--fold", "width"], "--fold requires --words"),
    ],
)
def test_options_that_would_do_nothing_are_refused(cli, saved, arguments, message):
    Path("spaced").write_text("他们 在 北京\n")
    done = cli(*(saved if word == "MODEL" else word for word in arguments))
    assert done.code == 2
    assert message in done.err


def test_lines_in_pieces_are_whole_again_with_new_words(cli, saved, monkeypatch):
    monkeypatch.setattr(text_module, "LONG", 4)
    monkeypatch.setattr(text_module.read_lines, "__defaults__", (18,))
    text = "他们在北京，他们在上海\u2028他\n他们\n"
    Path("text").write_text(text)
    cli("new-words", "text", "-m", saved, "--segmented", "out")
    assert Path("out").read_text().replace(" ", "") == text.replace("\u2028", "")
