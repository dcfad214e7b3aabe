from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adaptag
from adaptag._native import available, build, cpu
from adaptag.cli.main import app
from adaptag.corpus.ingredients import column_text, ingredients
from adaptag.errors import counted
from tests.conftest import Done

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import run; run()"]
TRAIN = "The D B-NP\ncat N I-NP\nsat V O\n\nDogs N B-NP\nbark V O\n\nin I O\nRome R B-LOC\n"


@pytest.fixture
def cli(program):
    """Run the program in a folder with some files."""
    Path("train.txt").write_text(TRAIN)
    return program


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.adaptag"
    source = path.with_name("train.txt")
    source.write_text(TRAIN)
    adaptag.train(source, passes=8).save(path)
    return path


# ---- train ----------------------------------------------------------------------------------


def test_train_writes_a_model_and_says_what_it_does(cli):
    done = cli("train", "train.txt", "-m", "m", "--passes", 3)
    assert (done.code, done.out) == (0, "")
    said = done.err.splitlines()
    assert said[0].startswith("3 sentences, 7 tokens, 4 labels, ")
    assert said[1] == "learning rate 0.1 (auto)"
    assert [line.split()[:2] for line in said[2:5]] == [["pass", str(k)] for k in (1, 2, 3)]
    assert re.fullmatch(r"m: \d+\.\d kB, \d+\.\d\d s in all", said[5])
    expected = adaptag.train("train.txt", passes=3)
    assert Path("m").read_bytes() == expected.to_bytes()


def test_options_reach_training(cli):
    Path("t").write_text("U:%x[0,0]\nB\n")
    done = cli(
        "train", "train.txt", "-m", "m", "-t", "t", "-a", "sgd", "--seed", 7, "--cutoff", 2,
        "--passes", 2, "--rate", "0.05", "--separator", "space",
    )  # fmt: skip
    assert done.code == 0
    model = adaptag.Model.load("m")
    origin = model.provenance
    assert (origin["algorithm"], origin["seed"]) == ("sgd", 7)
    assert origin["feature_settings"]["cutoff"] == 2
    assert origin["parameters"]["rate"] == 0.05
    assert len(origin["passes"]) == 2
    assert model.index.template.text == "U:%x[0,0]\nB\n"
    assert model.index.n_predicates == 1  # B: no word occurs twice


def test_dev_data_chooses_the_pass(cli):
    done = cli("train", "train.txt", "-m", "m", "--dev", "train.txt", "--patience", 2)
    assert done.code == 0
    best = re.search(r"^best dev F1 (\d+\.\d\d), in pass (\d+)$", done.err, re.MULTILINE)
    origin = adaptag.Model.load("m").provenance
    assert int(best[2]) == origin["best_pass"]
    assert float(best[1]) == round(origin["passes"][origin["best_pass"] - 1]["dev_score"], 2)
    assert origin["stopped"] == "callback"
    assert len(origin["passes"]) == origin["best_pass"] + 2


def test_the_log_has_start_passes_and_end(cli):
    assert cli("train", "train.txt", "-m", "m", "--passes", 2, "--log", "log").code == 0
    events = [json.loads(line) for line in Path("log").read_text().splitlines()]
    assert [e["event"] for e in events] == ["start", "note", "pass", "pass", "end"]
    assert events[0] == {"event": "start", "passes": 2, "sentences": 3}
    assert events[1] == {"event": "note", "text": "learning rate 0.1 (auto)"}
    assert [e["pass"] for e in events[2:4]] == [1, 2]
    assert events[3]["loss"] < events[2]["loss"]
    assert (events[4]["model"], events[4]["stopped"], events[4]["best_pass"]) == ("m", "passes", 2)


@pytest.mark.parametrize(
    ("name", "packed"), [("-", None), ("x.gz", gzip.compress(TRAIN.encode()))], ids=["-", "gz"]
)
def test_training_data_from_elsewhere(cli, name, packed):
    if packed:
        Path(name).write_bytes(packed)
    assert cli("train", name, "-m", "m", "--passes", 2, stdin=TRAIN.encode()).code == 0
    assert cli("train", "train.txt", "-m", "n", "--passes", 2).code == 0
    assert Path("m").read_bytes() == Path("n").read_bytes()


def test_an_encoded_dataset_gives_the_same_model(cli):
    done = cli("encode", "train.txt", "-o", "data", "--cutoff", 2, "-t", "chunking")
    assert done.code == 0
    assert re.fullmatch(r"data: 3 sentences, 7 tokens, \d+ features\n", done.err)
    assert cli("train", "data", "-m", "m").code == 0
    assert cli("train", "train.txt", "-m", "n", "--cutoff", 2, "-t", "chunking").code == 0
    assert Path("m").read_bytes() == Path("n").read_bytes()
    assert cli("train", "data", "-m", "m", "-t", "general").code == 2


def test_files_of_attributes(cli):
    Path("a.txt").write_text("X\ta\tb:2\nY\tc\n\nX\ta\\:\n\nY\tc:0.5\n")
    assert cli("train", "a.txt", "-m", "m", "--format", "attributes").code == 0
    done = cli("tag", "a.txt", "-m", "m")
    assert (done.code, done.out) == (0, "X\nY\n\nX\n\nY\n\n")
    assert cli("train", "a.txt", "-m", "m", "--format", "attributes", "--dev", "a.txt").code == 0


# ---- tag ------------------------------------------------------------------------------------

UNTAGGED = "The D\ncat N\nsat V\n\nDogs N\nbark V\n"
TAGGED = "The D B-NP\ncat N I-NP\nsat V O\n\nDogs N B-NP\nbark V O\n\n"


def test_tag_adds_a_column(cli, saved):
    Path("x.txt").write_text(UNTAGGED)
    Path("x.gz").write_bytes(gzip.compress(UNTAGGED.encode()))
    assert cli("tag", "x.txt", "-m", saved) == Done(0, TAGGED, "")
    assert cli("tag", "x.gz", "-m", saved) == Done(0, TAGGED, "")
    assert cli("tag", "-", "-m", saved, stdin=UNTAGGED.encode()) == Done(0, TAGGED, "")
    assert cli("tag", "x.txt", "-m", saved, "-o", "out") == Done(0, "", "")
    assert Path("out").read_text() == TAGGED


def test_tag_keeps_tabs_and_further_columns(cli, saved):
    done = cli("tag", "-", "-m", saved, stdin=b"The\tD\tx y\r\ncat\tN\tz\r\n")
    assert done.out == "The\tD\tx y\tB-NP\ncat\tN\tz\tI-NP\n\n"


def test_tag_with_comments_and_document_starts(cli, saved):
    text = b"-DOCSTART- -X-\n\n# id 1\nThe D\ncat N\n"
    done = cli("tag", "-", "-m", saved, "--comment", "#", "--skip-docstart", stdin=text)
    assert done.out == "The D B-NP\ncat N I-NP\n\n"


def test_tag_with_probabilities(cli, saved):
    done = cli("tag", "-", "-m", saved, "--marginals", stdin=UNTAGGED.encode())
    model = adaptag.Model.load(saved)
    rows = model.marginals([("The", "D"), ("cat", "N"), ("sat", "V")])
    words, tags, numbers, labels = zip(
        *(x.split(" ") for x in done.out.split("\n")[:3]), strict=True
    )
    assert (words, tags) == (("The", "cat", "sat"), ("D", "N", "V"))
    assert labels == ("B-NP", "I-NP", "O")
    expected = [row[label] for row, label in zip(rows, labels, strict=True)]
    assert [float(n) for n in numbers] == pytest.approx(expected, abs=1e-6)


def test_tag_with_the_n_best(cli, saved):
    done = cli("tag", "-", "-m", saved, "--nbest", 2, stdin=UNTAGGED.encode())
    blocks = [block.splitlines() for block in done.out.strip().split("\n\n")]
    assert [block[0].split()[:2] for block in blocks] == [["#", "0"], ["#", "1"]] * 2
    model = adaptag.Model.load(saved)
    expected = model.nbest([("The", "D"), ("cat", "N"), ("sat", "V")], 2)
    for block, (labels, p) in zip(blocks, expected, strict=False):
        assert float(block[0].split()[2]) == pytest.approx(p, abs=1e-6)
        assert [line.split()[-1] for line in block[1:]] == labels
    assert cli("tag", "-", "-m", saved, "--nbest", 2, "--marginals").code == 2


def test_tag_legally(cli, tmp_path):
    model = adaptag.train([["a", "b"], ["b", "b"]], [["B-X", "I-X"], ["I-X", "I-X"]], passes=9)
    model.save(tmp_path / "m")
    assert cli("tag", "-", "-m", "m", stdin=b"b\nb\n").out == "b\tI-X\nb\tI-X\n\n"
    legal = cli("tag", "-", "-m", "m", "--legal", "iob2", stdin=b"b\nb\n")
    assert legal.out == "b\tB-X\nb\tI-X\n\n"


def test_parts_of_a_long_file_are_one_output(cli, saved, monkeypatch):
    from adaptag.corpus.columns import ColumnCorpus

    monkeypatch.setattr(ColumnCorpus.read_parts.__func__, "__defaults__", (None, 16))
    Path("x.txt").write_text((UNTAGGED + "\n") * 50)
    assert cli("tag", "x.txt", "-m", saved).out == TAGGED * 50


# ---- evaluate, inspect, demo ----------------------------------------------------------------

SCORED = "a B-NP B-NP\nb I-NP O\n\nc B-VP B-VP\nd O O\n"


def test_evaluate(cli):
    Path("x").write_text(SCORED)
    scores = json.loads(cli("evaluate", "x", "--json").out)
    assert (scores["tokens"], scores["correct_tokens"], scores["accuracy"]) == (4, 3, 75)
    assert scores["chunks"]["f1"] == scores["score"] == 50
    assert scores["by_type"]["VP"]["f1"] == 100
    assert cli("evaluate", "-", "--conlleval", stdin=SCORED.encode()).out == (
        "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
        "accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
        "               NP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
    )
    table = cli("evaluate", "x").out
    assert "token accuracy 75.00% (3 of 4)" in table
    assert re.search(r"VP +100\.00 +100\.00 +100\.00", table)


def test_columns_that_never_agree_get_a_note(cli):
    done = cli("evaluate", "-", "--json", stdin=b"The DT B-NP\ndog NN I-NP\n")
    assert json.loads(done.out)["correct_tokens"] == 0
    assert "is the file tagged" in done.err
    assert not cli("evaluate", "-", stdin=SCORED.encode()).err


def test_tagged_output_can_be_evaluated(cli, saved):
    tagged = cli("tag", "train.txt", "-m", saved).out
    assert json.loads(cli("evaluate", "-", "--json", stdin=tagged.encode()).out)["score"] == 100


def test_inspect(cli, saved):
    done = cli("inspect", saved, "--top", 2, "--verify")
    assert (done.code, done.err) == (0, "")
    model = adaptag.Model.load(saved)
    assert "4: B-NP, I-NP, O, B-LOC" in done.out
    assert f"{model.n_weights:,}" in done.out
    assert "Strongest features" in done.out
    assert "Transitions (B)" in done.out
    weights = model.node_weights()
    assert f"+{weights.max():.2f}" in done.out
    assert "B-NP → E-NP" in done.out  # it is trained with bioes


@pytest.mark.parametrize("template", ["B", "U:%x[0,0]", "*:%x[0,0]", "Ux\n*y\nBz"])
def test_inspect_models_of_few_kinds(cli, template):
    adaptag.train("train.txt", template=template, passes=1).save("m")
    assert cli("inspect", "m").code == 0


def test_inspect_shows_any_text_as_it_is(cli):
    data = [["[/x]", "[b]", ":smile:"]] * 3
    adaptag.train(data, [["[y]", "[/z]", ":cat:"]] * 3, template="U:%x[0,0]").save("m")
    done = cli("inspect", "m")
    assert done.code == 0
    for text in ["U:[/x]", "U:[b]", "U::smile:", "[y]", "[/z]", ":cat:"]:
        assert text in done.out


def test_demo(cli):
    done = cli("demo", "--passes", 2, "--model", "d.adaptag")
    assert done.code == 0
    assert "4,000 lines to train on" in done.out
    assert "overall" in done.out
    assert adaptag.Model.load("d.adaptag").tag(["2", "cups", "flour"])[0].startswith("B-")


def test_the_demo_corpus_can_be_written_as_files(cli):
    assert cli("demo", "--write", "new/food").code == 0
    sizes = {name: len(adaptag.read(f"new/food/{name}.txt")) for name in ("train", "dev", "test")}
    assert sizes == {"train": 4000, "dev": 500, "test": 500}
    assert not list(Path().glob("*.adaptag"))


def test_the_demo_corpus_does_not_replace_other_files(cli):
    path = Path("food/test.txt")
    path.parent.mkdir()
    path.write_text("precious")
    done = cli("demo", "--write", "food")
    assert done.code == 2
    assert done.err == f"adaptag: {path} exists already; choose another folder for --write\n"
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == "precious"
    path.unlink()
    assert cli("demo", "--write", "food").code == 0
    assert cli("demo", "--write", "food").code == 0  # the same files


def test_the_demo_corpus_is_not_written_into_a_file(cli):
    Path("taken").write_text("precious")
    done = cli("demo", "--write", "taken")
    assert done.code == 2
    assert "taken: cannot create the folder" in done.err
    assert Path("taken").read_text() == "precious"


@pytest.mark.parametrize("command", ["train", "tag", "evaluate", "inspect", "encode", "demo"])
def test_every_command_has_help(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_every_parameter_of_an_algorithm_is_an_option():
    text = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).output
    for algorithm in adaptag.algorithms().values():
        for parameter in algorithm.parameters:
            assert f"--{parameter.name}" in text


def test_flags_show_no_value_in_the_help():
    text = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).output
    flags = [line for line in text.splitlines() if "<bool>" in line]
    assert [line.split()[1] for line in flags] == ["--help"]  # typer's own
    assert "--stream" in text


def test_the_table_of_algorithms_fits_80_columns(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("algorithms").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)


# ---- bad input ------------------------------------------------------------------------------

FILES = {
    "ragged": b"a b\n\nc d e\n",
    "empty": b"\n\n",
    "latin1": b"a b\nf\xfcr b\n",
    "nul": b"a b\nc\0 b\n",
    "narrow": b"a\nb\n",
    "gap": b"a\tb\n\tc\n",
    "cut.gz": gzip.compress(TRAIN.encode())[:-9],
    "template": b"U:%x[0,0]\nU:%y[0,0]\n",
    "wide": b"U:%x[0,0]\n\nU:%x[0,5]\n",
    "attributes": b"X\ta\nX\tb:x\n",
    "damaged": b"\x10\0\0\0\0\0\0\0" + b"x" * 99,
}


@pytest.fixture
def bad(cli, saved):
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    Path("m").write_bytes(saved.read_bytes())
    Path("old").write_text("precious")
    adaptag.train([["a", "b"]], [["B-X", "I-X"]], passes=1).save("bi")
    return cli


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train ragged -m old", "ragged:3: 3 columns; line 1 has 2"),
        ("train empty -m old", "empty:1: no sentence found"),
        ("train latin1 -m old", "latin1:2: invalid UTF-8 at byte 2"),
        ("train nul -m old", "nul:2: a NUL byte"),
        ("train narrow -m old", "narrow:1: 1 column; a labelled file needs at least 2"),
        ("train gap -m old", "gap:2: column 1 is empty"),
        ("train cut.gz -m old", "cut.gz: damaged compressed file"),
        ("train none -m old", "none: cannot read: No such file"),
        ("train . -m old", ".: cannot read: Is a directory"),
        ("train train.txt -m old -t template", "template:2:3: unknown macro 'y'"),
        ("train train.txt -m old -t wide", "wide:3: column 5 is asked for; train.txt:1 has"),
        ("train train.txt -m old -t chunkin", "no template file 'chunkin', and unknown preset"),
        ("train train.txt -m old --separator comma", "unknown separator 'comma'"),
        ("train train.txt -m old --format conll", "unknown format 'conll'"),
        ("train attributes -m old --format attributes", "attributes:2: value 'x' after ':'"),
        ("train train.txt -m old --dev ragged", "ragged:3: 3 columns"),
        ("train train.txt -m old --dev none", "none: cannot read"),
        ("train train.txt -m old -a adff", "unknown algorithm 'adff'; did you mean 'adf'?"),
        ("train train.txt -m old --rate -1", "rate is -1.0; allowed: "),
        ("train train.txt -m old --log no/log", "no/log: cannot write: No such file"),
        ("train train.txt -m no/old", "no/old: cannot write: No such file"),
        ("encode ragged -o old", "ragged:3: 3 columns"),
        ("encode train.txt -o no/old", "no/old: cannot write"),
        ("tag ragged -m m -o old", "ragged:3: 3 columns"),
        ("tag narrow -m m -o old", "narrow:1: 1 column; the model was trained with 2"),
        ("tag empty -m m -o old", "empty:1: no sentence found"),
        ("tag none -m m -o old", "none: cannot read"),
        ("tag train.txt -m none -o old", "none: cannot read"),
        ("tag train.txt -m damaged -o old", "damaged: not an adaptag model"),
        ("tag train.txt -m train.txt -o old", "train.txt: not an adaptag model"),
        ("tag train.txt -m m --legal bie -o old", "unknown label scheme 'bie'"),
        ("tag narrow -m bi --legal bioes -o old", ""),
        ("tag train.txt -m m -o no/old", "no/old: cannot write"),
        ("evaluate ragged", "ragged:3: 3 columns"),
        ("evaluate narrow", "narrow:1: 1 column; "),
        ("inspect damaged", "damaged: not an adaptag model"),
        ("inspect none", "none: cannot read"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(bad, arguments, message):
    before = sorted(Path().iterdir())
    done = bad(*arguments.split())
    assert done.code == 2
    *said, last = done.err.splitlines()
    assert last.startswith(f"adaptag: {message}")
    assert all(re.match(r"\d+ sentences, |pass +\d", line) for line in said)
    assert done.out == ""
    assert Path("old").read_text() == "precious"
    assert sorted(Path().iterdir()) == before


def test_a_model_that_cannot_be_written_is_seen_before_training(cli):
    done = cli("train", "train.txt", "-m", "no/folder/m")
    assert done.code == 2
    assert "\npass " not in done.err


# ---- as a program ---------------------------------------------------------------------------


def process(*arguments, cwd=None, **environment):
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_program_ends_with_a_message(tmp_path):
    (tmp_path / "bad").write_bytes(FILES["ragged"])
    done = process("train", "bad", "-m", "m", cwd=tmp_path)
    assert done == Done(2, "", "adaptag: bad:3: 3 columns; line 1 has 2\n")
    usage = process("train", "bad", cwd=tmp_path)
    assert usage.code == 2
    assert "Traceback" not in usage.err


def test_the_version_names_the_core():
    done = process("--version")
    assert done.code == 0
    assert re.fullmatch(rf"adaptag \d+\.\d+\S* \(core {build}\)\n", done.out)


def test_help_needs_no_numpy():
    code = (
        "import sys; sys.argv = ['adaptag', '--help']\n"
        "from adaptag.cli.program import run\n"
        "try: run()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'numpy' not in sys.modules, 'numpy'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "train" in done.stdout


def test_ctrl_c_keeps_the_model_reached(tmp_path):
    (tmp_path / "train.txt").write_text(column_text(ingredients(200, 0, 0).train))
    process = subprocess.Popen(
        [*PROGRAM, "train", "train.txt", "-m", "m", "--passes", "1000000", "--log", "log"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        while not (line := process.stderr.readline()).startswith("pass "):
            assert line, "training ended before its first pass"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Traceback" not in said
    model = adaptag.Model.load(tmp_path / "m")
    n = len(model.provenance["passes"])
    reached = counted(n, "finished pass", "finished passes")
    assert said.endswith(f"interrupted: the model after {reached} is saved in m\n")
    assert model.provenance["stopped"] == "interrupt"
    assert 1 <= len(model.provenance["passes"]) < 1_000_000
    assert len(model.tag(["2", "cups", "flour"])) == 3
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["event"] == "end"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_the_program_quietly(tmp_path, saved, unbuffered):
    (tmp_path / "x").write_text((UNTAGGED + "\n") * 50_000)
    process = subprocess.Popen(
        [*PROGRAM, "tag", "x", "-m", str(saved)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "The D B-NP\n"
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == ""
    assert process.wait(60) in (1, 141)


TRAIN_AND_TAG = """
import json, adaptag
from adaptag._native import build
from adaptag.corpus.ingredients import ingredients
splits = ingredients(150, 0, 60)
train = [s.tokens for s in splits.train], [s.labels for s in splits.train]
model = adaptag.train(*train, passes=4)
tagged = model.tag_all([s.tokens for s in splits.test])
rows = model.marginals(splits.test[0].tokens)
print(json.dumps([build, tagged, [max(row.values()) for row in rows]]))
"""


def train_and_tag(core):
    done = subprocess.run(
        [sys.executable, "-c", TRAIN_AND_TAG],
        env=os.environ | {"ADAPTAG_CORE": core},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def default_tags():
    return train_and_tag(build)


@pytest.mark.parametrize("core", available)
def test_every_build_of_the_core_tags_alike(default_tags, core):
    name, tagged, probabilities = train_and_tag(core)
    assert name == core
    assert tagged == default_tags[1]
    assert probabilities == pytest.approx(default_tags[2], abs=1e-3)


def test_an_unknown_build_names_the_choices():
    done = subprocess.run(
        [sys.executable, "-c", "import adaptag; adaptag.train"],
        env=os.environ | {"ADAPTAG_CORE": "nonsense"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ADAPTAG_CORE='nonsense'; this processor runs: ")
    assert all(name in last for name in cpu.supported_variants())


MISTAKES = {
    "tag --text words -m MODEL --comment #": "--comment is for column files",
    "tag --text words -m MODEL --skip-docstart": "--skip-docstart is for column files",
    "tag --text words -m MODEL --separator tab": "--separator is for column files",
    "tag words -m MODEL --threads 99999999999999999999": "threads is 99999999999999999999; "
    "allowed: 1 to 4,096",
    "tag plain -m MODEL --constraints fixed.json": "constraints, fixed: token 999; plain:2 has 3 "
    "tokens",
    "tag plain -m MODEL -o EMPTY": "the file is the string ''; allowed: a path",
    "tag EMPTY -m MODEL": "the file is the string ''; allowed: a path",
    "train EMPTY -m m": "TRAIN is ''; allowed: the name of a file",
    "train train.txt -m EMPTY": "--model is ''; allowed: the name of a file",
    "train train.txt --log= -m m": "--log is ''; allowed: the name of a file",
    "train train.txt -m m --stream --cluster local": "--stream cannot be combined with --cluster",
    "train train.txt -m m --stream --workers 2": "--stream cannot be combined with --workers",
    "train train.txt -m m --resume state --threads 2": "threads is 2, but the checkpoint was "
    "trained with threads 1",
    "train train.txt -m m --rate 1e308": "times the period, is 1.33333e+306; allowed: below 0.5",
    "evaluate folder": "folder: cannot read: Is a directory, without .ann files of BRAT",
    "train . -m m": "strange.txt: cannot read: No such file or directory; . is a folder, in which "
    "all .ann files are taken for documents of BRAT",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_messages_say_what_is_meant(cli, saved, command):
    Path("words").write_text("The cat\n")
    Path("plain").write_text("\nThe D\ncat N\nsat V\n")
    Path("fixed.json").write_text('{"fixed": {"999": "O"}}')
    Path("folder").mkdir()
    if "." in command.split():
        Path("folder", "strange.ann").write_text("")
    adaptag.train("train.txt", passes=1, checkpoint="state")
    words = {"MODEL": saved, "EMPTY": ""}
    done = cli(*(words.get(word, word) for word in command.split()))
    assert done.code == 2
    assert MISTAKES[command] in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
    assert not Path("m").exists()


def test_a_prior_of_any_width(cli):
    assert cli("train", "train.txt", "-m", "m", "-a", "lbfgs", "--sigma", "1e308").code == 0
