"""Jobs on a cluster of two nodes: the output of one machine, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import adaptag
from adaptag.errors import AdaptagError, CorpusWarning, FileError, ParameterError

ray = pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)

from adaptag.decoding.tagged import TagOptions  # noqa: E402
from adaptag.ray import jobs  # noqa: E402
from adaptag.ray.connection import pool_size  # noqa: E402
from adaptag.ray.filesystems import Folder  # noqa: E402
from adaptag.ray.jobs import ATTEMPTS, Job  # noqa: E402
from adaptag.ray.manifest import MANIFEST, open_manifest  # noqa: E402
from adaptag.ray.work import Tagging  # noqa: E402
from tests.ray.making import COLUMNS, DOCUMENTS, TAGGER_DATA, TEXT  # noqa: E402

pytestmark = pytest.mark.xdist_group("ray")

PROGRAM = [sys.executable, "-c", "from adaptag.cli.program import run; run()"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def _workers_get_the_classes_of_this_module():
    module = sys.modules[__name__]
    ray.cloudpickle.register_pickle_by_value(module)
    yield
    ray.cloudpickle.unregister_pickle_by_value(module)


def rows(folder="out"):
    """The lines of the manifest: the job, the blocks, the totals."""
    first, *lines = map(json.loads, Path(folder, MANIFEST).read_text().splitlines())
    return first["job"], [x for x in lines if "block" in x], [x for x in lines if "total" in x]


def parts(folder="out"):
    return [path.read_text() for path in sorted(Path(folder).glob("part-*"))]


def assert_finished(expected, folder="out"):
    """The output is as expected, each block is in the manifest once, and nothing else is left."""
    assert "".join(parts(folder)) == expected
    _, blocks, (total,) = rows(folder)
    assert sorted(row["block"] for row in blocks) == list(range(len(blocks)))
    assert total["total"]["blocks"] == len(blocks)
    outputs = {row["output"] for row in blocks if "output" in row}
    assert {path.name for path in Path(folder).iterdir()} == outputs | {MANIFEST}


@pytest.fixture
def tagged(models):
    """A column file, and the output for it."""
    Path("x.txt").write_text(COLUMNS)
    model = adaptag.Model.load(models / "tagger")
    return "".join(
        "".join(f"{token}\t{label}\n" for token, label in zip(tokens, labels, strict=True)) + "\n"
        for tokens, labels in zip(TAGGER_DATA, model.tag_all(TAGGER_DATA), strict=True)
    )


# ---- the command line -----------------------------------------------------------------------


def test_the_output_is_that_of_one_machine(two_nodes, program, models, tagged):
    assert program("tag", "x.txt", "-m", models / "tagger").out == tagged
    Path("d").mkdir()
    Path("d/a.txt").write_text(COLUMNS)
    line = ["tag", "d", "x.txt", "-m", models / "tagger", "-o", "out", "--cluster", two_nodes]
    done = program(*line, "--block-size", "0.002")
    assert done.code == 0, done.err
    n = len(parts())
    assert n > 4
    sentences, tokens = 2 * len(TAGGER_DATA), 2 * sum(map(len, TAGGER_DATA))
    assert done.err.startswith(f"out: {n} blocks, {sentences} sentences, {tokens:,} tokens, ")
    assert_finished(tagged * 2)
    job, blocks, (total,) = rows()
    assert [Path(path).name for path, *_ in job["inputs"]] == ["a.txt", "x.txt"]
    size = len("".join(parts()).encode())
    assert total["total"] == {
        "blocks": n, "skipped": 0, "sentences": sentences, "tokens": tokens, "bytes": size,
    }  # fmt: skip
    assert {row["input"] for row in blocks} == {"d/a.txt", "x.txt"}


def test_cutting_and_classifying_several_formats(two_nodes, program, models):
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path("x.txt").write_text(TEXT)
    lines = TEXT.splitlines()[:5]
    Path("y.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    pq.write_table(pa.table({"text": lines}), "z.parquet")
    Path("words").write_text("喜欢看 force\n")
    cut = ["-m", models / "segmenter", "-d", "words", "--threads", 1]
    plain = program("segment", "cut", "x.txt", *cut).out
    assert "喜欢看" in plain
    done = program(
        "segment", "cut", "x.txt", "y.jsonl", "z.parquet", *cut, "-o", "out", "--cluster", two_nodes
    )
    assert done.code == 0, done.err
    assert Path("out/part-00000.txt").read_text() == plain
    words = [line.split() for line in plain.splitlines()[:5]]
    records = [json.loads(line) for line in Path("out/part-00001.jsonl").read_text().splitlines()]
    assert [record["words"] for record in records] == words
    assert pq.read_table("out/part-00002.parquet")["words"].to_pylist() == words

    Path("docs.txt").write_text(DOCUMENTS)
    classify = ["classify", "predict", "docs.txt", "-m", models / "classifier", "--probabilities"]
    plain = program(*classify).out
    line = [*classify, "-o", "classes", "--cluster", two_nodes, "--block-size", "0.001"]
    assert program(*line).code == 0
    assert len(parts("classes")) > 1
    assert_finished(plain, "classes")


def test_bad_input_ends_the_job_or_is_skipped(two_nodes, program, models, tagged):
    Path("bad.txt").write_text(COLUMNS + "one two\n\n" + COLUMNS)
    line = ["tag", "x.txt", "bad.txt", "-m", models / "tagger", "-o", "out"]
    line += ["--cluster", two_nodes, "--block-size", "0.002"]
    place = f"bad.txt:{COLUMNS.count(chr(10)) + 1}: 2 columns; line 1 has 1"
    done = program(*line)
    assert (done.code, done.out, done.err) == (2, "", f"adaptag: {place}\n")
    _, before, total = rows()
    assert total == []
    done = program(*line, "--skip-bad-blocks")
    assert done.code == 0
    assert " blocks (1 skipped), " in done.err
    _, blocks, _ = rows()
    (skipped,) = [row for row in blocks if "skipped" in row]
    assert skipped["skipped"] == place
    assert all(row in blocks for row in before)
    good = [path.read_text() for path in sorted(Path("out").glob("part-*"))]
    assert len(good) == len(blocks) - 1
    assert "".join(good).startswith(tagged)
    done = program(*line)  # a block that was skipped is not finished
    assert (done.code, done.err.splitlines()[-1]) == (2, f"adaptag: {place}")


def test_a_finished_job_needs_no_cluster(two_nodes, program, models, tagged, monkeypatch):
    line = ["tag", "x.txt", "-m", models / "tagger", "-o", "out", "--cluster", two_nodes]
    assert program(*line).code == 0
    written = {path: path.stat().st_mtime_ns for path in Path("out").glob("part-*")}

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(jobs, "connect", refuse)
    done = program(*line)
    assert done.code == 0
    assert done.err.startswith("out: 100% of the input was finished before\nout: 1 blocks, ")
    assert written == {path: path.stat().st_mtime_ns for path in Path("out").glob("part-*")}
    assert_finished(tagged)

    def refused(*options, model="tagger"):
        changed = ["tag", "x.txt", "-m", models / model, "-o", "out", "--cluster", "auto", *options]
        done = program(*changed)
        assert done.code == 2
        return done.err

    end = "; choose another folder for --output\n"
    start = "adaptag: out: belongs to another job: "
    assert refused("--marginals") == f"{start}marginals was False, is True{end}"
    assert "block_size was 33554432, is 1000000" in refused("--block-size", 1)
    other = adaptag.train([["a"]], [["B"]], passes=1)
    other.save("other")
    assert refused(model=Path("other").absolute()) == f"{start}the model was another one{end}"
    Path("x.txt").write_text(COLUMNS + "a\n")
    assert refused() == f"{start}input {Path('x.txt').absolute()} has changed{end}"


# ---- faults ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dying(Tagging):
    """The worker of the block at a place dies: once, or as often as it is tried."""

    at: int = 0
    seen: str = ""
    always: bool = False

    def write(self, model, block, out, threads=1, line=None):
        if block.begin == self.at and (self.always or not Path(self.seen).exists()):
            with Path(self.seen).open("a") as file:
                file.write("x")
            out.write(b"half of the out")
            out.flush()
            os._exit(1)
        return super().write(model, block, out, threads, line)


def dying(models, **options):
    work = Dying(at=2000, seen=str(Path("seen").absolute()), **options)
    return Job.plan(work, ["x.txt"], models / "tagger", "out", block_size=1000)


def test_a_worker_that_dies_is_replaced(two_nodes, models, tagged):
    dying(models).run(two_nodes)
    assert Path("seen").read_text() == "x"
    assert_finished(tagged)


def test_a_block_that_workers_die_of_is_given_up(two_nodes, models, tagged):
    job = dying(models, always=True)
    total = job.run(two_nodes, skip_bad=True)
    assert Path("seen").read_text() == "x" * ATTEMPTS
    assert total["skipped"] == 1
    (skipped,) = [row for row in rows()[1] if "skipped" in row]
    assert skipped["skipped"] == (
        f"x.txt: {ATTEMPTS} workers died while they worked on block 2, 2000 to 3000; it may need "
        "more memory than there is"
    )
    assert len(parts()) == len(job.blocks) - 1
    assert not list(Path("out").glob(".*"))
    assert tagged.startswith(parts()[0])


@dataclass(frozen=True)
class Wrong(Tagging):
    """A mistake in the code, not in the data."""

    seen: str = ""

    def write(self, model, block, out, threads=1, line=None):  # noqa: ARG002
        with Path(self.seen).open("a") as file:
            file.write("x")
        raise ZeroDivisionError("a mistake in the code")


@pytest.mark.usefixtures("tagged")
def test_a_mistake_in_the_code_is_not_tried_again(two_nodes, models):
    work = Wrong(seen=str(Path("seen").absolute()))
    job = Job.plan(work, ["x.txt"], models / "tagger", "out")
    with pytest.raises(Exception, match="a mistake in the code"):
        job.run(two_nodes)
    assert Path("seen").read_text() == "x"


def test_the_driver_can_be_killed(two_nodes, program, models, tagged):
    line = ["tag", "x.txt", "-m", models / "tagger", "-o", "out", "--cluster", two_nodes]
    line += ["--block-size", "0.001"]
    Path("x.txt").write_text(COLUMNS * 20)
    words = [*PROGRAM, *map(str, line)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as driver:
        manifest = Path("out", MANIFEST)
        while not manifest.exists() or manifest.read_bytes().count(b"\n") < 4:
            assert driver.poll() is None
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
    _, before, total = rows()
    assert total == []
    written = {row["output"]: Path("out", row["output"]).stat().st_mtime_ns for row in before}
    done = program(*line)
    assert done.code == 0
    assert " of the input was finished before\n" in done.err
    assert {name: Path("out", name).stat().st_mtime_ns for name in written} == written
    assert_finished(tagged * 20)


# ---- memory and threads ---------------------------------------------------------------------


@dataclass(frozen=True)
class Watched(Tagging):
    """Counts the memory of the worker, and whether its model is in shared memory."""

    def write(self, model, block, out, threads=1, line=None):
        counts = super().write(model, block, out, threads, line)
        address = model.weights.ctypes.data
        for mapping in Path("/proc/self/maps").read_text().splitlines():
            first, _, end = mapping.split()[0].partition("-")
            if int(first, 16) <= address < int(end, 16):
                counts["shared"] = int("plasma" in mapping)
        return counts + Counter(memory=resident())


def resident():
    """The memory of this process that is not shared, in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(x.split()[1]) for x in lines if x.startswith("Private_"))


def test_memory_does_not_grow_and_models_are_not_copied(two_nodes, models, tagged):
    Path("x.txt").write_text(COLUMNS * 40)
    job = Job.plan(Watched(), ["x.txt"], models / "tagger", "out", block_size=len(COLUMNS) // 5)
    assert len(job.blocks) > 200
    driver = []
    job.run(two_nodes, advance=lambda _: driver.append(resident()))
    assert_finished(tagged * 40)
    _, blocks, _ = rows()
    assert all(row["shared"] for row in blocks)
    for memory in (driver, [row["memory"] for row in blocks]):
        early, late = memory[len(memory) // 4 : len(memory) // 2], memory[-len(memory) // 4 :]
        assert max(late) - max(early) < 4 << 20


@pytest.mark.usefixtures("tagged")
def test_there_are_no_more_workers_than_cpus(two_nodes, program, models):
    with adaptag.ray.connect(two_nodes):
        assert pool_size(ray, 1) == 2
        with pytest.raises(ParameterError, match=r"threads is 2; the largest node .* has 1 CPUs"):
            pool_size(ray, 2)
    line = ["tag", "x.txt", "-m", models / "tagger", "-o", "out", "--cluster", two_nodes]
    done = program(*line, "--threads", 2)
    assert done.code == 2
    assert done.err.endswith("threads is 2; the largest node of the cluster has 1 CPUs\n")


# ---- without a cluster ----------------------------------------------------------------------


def job(models, output="out", **options):
    return Job.plan(Tagging(**options), ["x.txt"], models / "tagger", output, block_size=2000)


def finish(planned, **options):
    """Do the work in this process."""
    worker = object.__new__(jobs.BlockWorker)
    worker.work, worker.folder, worker.threads = planned.work, planned.folder, 1
    worker.model = planned.work.model_type.from_bytes(planned.model)

    def results(pending, cluster, threads):  # noqa: ARG001
        for number in pending:
            yield worker.run(number, planned.part_name(number), planned.blocks[number])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "_results", lambda _, *given: results(*given))
        return planned.run(**options)


def test_what_is_missing_is_done_again(models, tagged):
    planned = job(models)
    finish(planned)
    assert_finished(tagged)
    Path("out/part-00001.txt").unlink()
    Path("out/part-00002.txt").write_text("short")
    Path("out/.part-00003.txt.1").touch()
    before = Path("out/part-00000.txt").stat().st_mtime_ns
    finish(planned)
    assert_finished(tagged)
    assert Path("out/part-00000.txt").stat().st_mtime_ns == before


def test_a_manifest_that_was_cut_off(models, tagged):
    finish(job(models))
    manifest = Path("out", MANIFEST)
    for kept in range(len(manifest.read_bytes()), 700, -301):
        manifest.write_bytes(manifest.read_bytes()[:kept])
        finish(job(models))
        assert_finished(tagged)
    manifest.write_text("")
    with pytest.raises(FileError, match=r"^out/_manifest\.jsonl: damaged; choose another folder"):
        finish(job(models))


@pytest.mark.usefixtures("tagged")
def test_folders_that_cannot_be_the_output(models):
    Path("full").mkdir()
    Path("full/file").touch()
    Path("in/out").mkdir(parents=True)
    Path("in/x.txt").write_text(COLUMNS)
    with pytest.raises(FileError, match=r"^full: holds files, but no job has written them"):
        finish(job(models, "full"))
    with pytest.raises(
        FileError, match=r"^in/out: --output is in the folder in, which is an input"
    ):
        Job.plan(Tagging(), ["in"], models / "tagger", "in/out")
    with pytest.raises(FileError, match=r"^in/x.txt: an input in the folder of --output"):
        Job.plan(Tagging(), ["in/x.txt"], models / "tagger", "in")
    with pytest.raises(FileError, match=r"^in/x.txt: a file; with a cluster --output is a folder$"):
        finish(job(models, "in/x.txt"))
    folder = Folder.of("locked")
    folder.create()
    with (
        open_manifest(folder, {"options": {}, "model": "", "inputs": []}),
        pytest.raises(FileError, match=r"^locked: another process is writing to this folder$"),
    ):
        finish(job(models, "locked"))


@pytest.mark.usefixtures("tagged")
def test_output_that_another_node_has_kept(models):
    planned = job(models)
    planned.folder.create()
    with pytest.raises(FileError, match=r"out/part-00000.txt: another node has written it, but"):
        planned._checked({"block": 0, "output": "part-00000.txt", "bytes": 5}, False)


@pytest.mark.usefixtures("tagged")
def test_files_that_a_node_does_not_see_are_not_skipped(models):
    planned = job(models)
    Path("x.txt").unlink()
    with pytest.raises(FileError, match=r"^x\.txt: cannot read: there is no such file on a node"):
        finish(planned, skip_bad=True)
    assert rows()[1] == []


def test_a_cluster_that_fails():
    message = "^the cluster failed: .*full.*; the same command goes on from what is finished$"
    with pytest.raises(AdaptagError, match=message), jobs._failures(ray):
        raise ray.exceptions.ObjectStoreFullError("full")
    wrong = ray.exceptions.RayTaskError("f", "trace", ZeroDivisionError())
    with pytest.raises(ray.exceptions.RayTaskError), jobs._failures(ray):
        raise wrong


def test_inputs_and_options_that_do_not_fit(program, models):
    Path("x.txt").write_text("")
    Path("x.jsonl").write_text("{}")
    tag = ["tag", "-m", models / "tagger"]
    for line, message in (
        ([*tag, "x.txt", "y.txt"], "2 inputs; without --cluster, INPUT is one file"),
        ([*tag, "x.txt", "--skip-bad-blocks"], "--skip-bad-blocks requires --cluster"),
        ([*tag, "x.txt", "--block-size", 1], "--block-size requires --cluster"),
        ([*tag, "x.txt", "--cluster", "auto"], "--cluster requires --output, the folder to write"),
        ([*tag, "x.txt", "--cluster", "auto", "-o", "o"],
         "x.txt: no sentence found; all files are empty"),
        ([*tag, "x.jsonl", "--cluster", "auto", "-o", "o", "--nbest", 2],
         "--nbest is for column files, not for JSON lines or Parquet"),
        ([*tag, "none", "--cluster", "auto", "-o", "o"],
         "none: cannot read: No such file or directory"),
        (["segment", "cut", "x.jsonl", "-m", models / "tagger", "--cluster", "auto", "-o", "o"],
         f"{models / 'tagger'}: holds an adaptag model; expected an adaptag segmenter "
         "(adaptag tag takes a model)"),
    ):  # fmt: skip
        done = program(*line)
        assert (done.code, done.err) == (2, f"adaptag: {message}\n")
    assert not Path("o").exists()


def test_notes_of_workers_are_passed_on(models):
    Path("x.txt").write_text("-DOCSTART-\n\n" + COLUMNS)
    with pytest.warns(CorpusWarning, match=r"^x\.txt:1: -DOCSTART- is read as a token"):
        finish(job(models))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finish(job(models, "skipped", format=adaptag.ColumnFormat(skip_docstart=True)))
    assert all("notes" not in row for row in rows()[1])


def test_nbest_on_a_cluster_is_that_of_one_machine(program, models):
    Path("x.txt").write_text(COLUMNS)
    plain = program("tag", "x.txt", "-m", models / "tagger", "--nbest", 2).out
    finish(job(models, options=TagOptions(nbest=2)))
    assert_finished(plain)


def test_ray_is_imported_only_for_a_cluster(models):
    Path("x.txt").write_text(COLUMNS)
    code = (
        "import sys; from adaptag.cli.program import run; run(); import adaptag.ray; "
        "assert not {'ray', 'pyarrow'} & sys.modules.keys()"
    )
    line = ["tag", "x.txt", "-m", models / "tagger", "-o", "out.txt"]
    subprocess.run([sys.executable, "-c", code, *map(str, line)], check=True)


def test_ray_may_be_missing(program, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("x.txt").write_text(COLUMNS)
    done = program("tag", "x.txt", "-m", models / "tagger", "-o", "out", "--cluster", "auto")
    message = "a cluster needs Ray; install it: pip install 'adaptag[ray]'"
    assert (done.code, done.err) == (2, f"adaptag: {message}\n")
