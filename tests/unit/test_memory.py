"""What a run needs is estimated, and refused where the machine or its cgroup has less."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adaptag
from adaptag.errors import MemoryLimitError
from adaptag.storage import memory
from adaptag.storage.memory import check_memory, free_memory, shown_size
from adaptag.training import needs

MEMINFO = "MemTotal:       8000000 kB\nMemAvailable:   4000000 kB\n"


def system(folder, cgroup="", **files):
    """A folder for ``/proc`` and one for cgroups, of these files."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "meminfo").write_text(MEMINFO)
    (folder / "proc" / "self" / "cgroup").write_text(cgroup)
    (folder / "proc" / "self" / "statm").write_text("1000 1 1\n")
    for name, text in files.items():
        path = folder / "cgroups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "proc", folder / "cgroups"


def files(folder, limit, used, *, v1=False, stat=""):
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    names = names if v1 else ("memory.max", "memory.current")
    values = dict(zip(names, (limit, used), strict=True))
    return {f"{folder}{name}": f"{value}\n" for name, value in values.items()} | {
        f"{folder}memory.stat": stat
    }


def test_the_machine_bounds_what_is_free(tmp_path):
    assert free_memory(*system(tmp_path)) == 4_000_000 * 1024


def test_a_cgroup_of_version_2_bounds_it(tmp_path):
    stat = "anon 5\ninactive_file 3000\n"
    places = system(tmp_path, "0::/a/b\n", **files("a/b/", 10_000, 8_000, stat=stat))
    assert free_memory(*places) == 10_000 - 8_000 + 3_000


def test_a_cgroup_around_it_bounds_it_too(tmp_path):
    inner, outer = files("a/b/", "max", 100), files("a/", 9_000, 2_000)
    assert free_memory(*system(tmp_path, "0::/a/b\n", **inner, **outer)) == 7_000


def test_in_a_container_the_cgroup_is_the_root(tmp_path):
    places = system(tmp_path, "0::/not/there\n", **files("", 5_000, 1_000))
    assert free_memory(*places) == 4_000


def test_a_cgroup_of_version_1_bounds_it(tmp_path):
    stat = "inactive_file 1\ntotal_inactive_file 500\n"
    inside = files("memory/box/", 6_000, 5_000, v1=True, stat=stat)
    cgroup = "5:cpu,cpuacct:/box\n4:memory:/box\n"
    assert free_memory(*system(tmp_path, cgroup, **inside)) == 1_500


def test_a_full_cgroup_has_nothing(tmp_path):
    assert free_memory(*system(tmp_path, "0::/\n", **files("", 5_000, 6_000))) == 0


def test_where_nothing_is_known_nothing_is_refused(tmp_path, monkeypatch):
    assert free_memory(tmp_path / "no", tmp_path / "no") is None
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    check_memory(1 << 60, "x", "y")


def test_sizes_in_words():
    sizes = [0, 999, 1000, 9_990, 123_456, 5_000_000_000, 3e15, 5e18]
    expected = ["0 bytes", "999 bytes", "1.0 kB", "10.0 kB", "123 kB", "5.0 GB", "3.0 PB"]
    assert [shown_size(size) for size in sizes] == [*expected, "5,000 PB"]


def test_more_than_there_is_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 100 << 20)
    check_memory(100 << 20, "x", "y")
    with pytest.raises(MemoryLimitError, match=r"^x needs about 105 MB of memory, and 105 MB are"):
        check_memory((100 << 20) + 1, "x", "do y")


SENTENCES = [[f"w{k}" for k in range(300)]]
LABELS = [[f"L{k}" for k in range(300)]]


@pytest.mark.parametrize("algorithm", ["adf", "lbfgs", "averaged-perceptron"])
def test_training_is_refused_before_it_allocates(monkeypatch, algorithm):
    monkeypatch.setattr(memory, "ALWAYS_ALLOWED", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    message = r"training [\d,]+ weights \([\d,]+ features, 300 labels\) needs about .* cutoff"
    with pytest.raises(MemoryLimitError, match=message):
        adaptag.train(SENTENCES, LABELS, passes=1, algorithm=algorithm)


def test_a_template_of_too_many_lines_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "ALWAYS_ALLOWED", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    text = "".join(f"U{k}:%x[0,0]\n" for k in range(100))
    with pytest.raises(MemoryLimitError, match="300 tokens with the 100 lines of the template nee"):
        adaptag.encode(SENTENCES, LABELS, template=text)


def test_a_long_sentence_is_named(monkeypatch):
    monkeypatch.setattr(memory, "ALWAYS_ALLOWED", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    data = [["a"] * 5000], [["X", "Y"] * 2500]
    with pytest.raises(MemoryLimitError, match=r"on a sentence of 5,000 tokens.*split long sent"):
        adaptag.train(*data, template="U:%x[0,0]\nB", passes=1)


def test_the_estimate_is_near_what_is_used():
    """The bytes that NumPy allocates, for an algorithm with state of its own."""
    import tracemalloc

    data = adaptag.encode([[f"w{k}" for k in range(400)]], [[f"L{k % 40}" for k in range(400)]])
    estimates = []
    original = needs.check_memory
    needs.check_memory = lambda needed, *_: estimates.append(needed)
    try:
        tracemalloc.start()
        adaptag.train(data, passes=1, algorithm="averaged-perceptron")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        needs.check_memory = original
    assert 0.5 * peak < max(estimates) < 1.5 * peak


def test_long_passes_are_announced(monkeypatch):
    monkeypatch.setattr(needs, "LONG_PASS", 0.0)
    with pytest.warns(UserWarning, match=r"^300 labels and 300 tokens: a pass takes about 0 min"):
        adaptag.train(SENTENCES, LABELS, passes=1, template="U:%x[0,0]\nB")


def test_passes_without_edges_are_not(monkeypatch):
    monkeypatch.setattr(needs, "LONG_PASS", 0.0)
    adaptag.train(SENTENCES, LABELS, passes=1, template="U:%x[0,0]")


LIMITED = """
import resource, sys
import adaptag
adaptag.train([["a"]], [["X"]], passes=1)
sentences, labels = [[f"w{k}" for k in range(3000)]], [[f"L{k}" for k in range(3000)]]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20),) * 2)
try:
    adaptag.train(sentences, labels, passes=1)
except adaptag.AdaptagError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists() or bool(os.environ.get("ADAPTAG_SANITIZED")),
    reason="needs /proc, and a build without sanitizers",
)
def test_a_limit_of_the_process_is_seen():
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300
    )
    assert "MemoryLimitError" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr


def test_memory_that_runs_out_is_reported(program, monkeypatch):
    def fails(*_, **__):
        raise MemoryError

    Path("f").write_text("a X\n\nb Y\n")
    monkeypatch.setattr("adaptag.features.index.core.IndexBuilder", fails)
    done = program("train", "f", "-m", "m")
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert done.err.startswith("adaptag: out of memory: ")


def test_arrays_that_cannot_be_had_are_reported():
    from adaptag.training.arrays import aligned_zeros

    with pytest.raises(MemoryLimitError, match="out of memory: 4,612 PB for"):
        aligned_zeros(1 << 60)


def test_the_page_size_is_that_of_the_system():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    left = memory._address_space(Path("/proc"))
    assert left is None if soft == resource.RLIM_INFINITY else left <= soft - used + (1 << 30)
    assert np.dtype(np.float32).itemsize == needs.FLOAT
