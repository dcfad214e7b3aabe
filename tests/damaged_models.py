"""Reads damaged copies of models of other programs: each gives a model or a clean error.

Copies of small models of CRFsuite, CRF++ (binary and text) and Wapiti get changed, removed, doubled
and extreme bytes. Each is read in a process with limited memory, and in limited time; what can be
read tags a sentence. A crash, another exception, or a file beyond a limit is reported with its
seed, and can be written to a file.

    python -m tests.damaged_models [--files 1000000] [--seed 1] [--seconds 3600] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import resource
import signal
import time
from pathlib import Path

import numpy as np

import adaptag
from adaptag.decoding.model import Model
from adaptag.errors import ModelError
from adaptag.foreign.crfpp import crfpp_text, read_crfpp, read_crfpp_text
from adaptag.foreign.crfsuite import crfsuite_bytes, read_crfsuite
from adaptag.foreign.wapiti import read_wapiti, wapiti_bytes
from tests.reference.wapiti_patterns import observation
from tests.unit import test_crfpp_models, test_crfsuite_models, test_wapiti_models

BATCH = 5_000  # files of one process
MEMORY = 1 << 30  # bytes that a process may take beyond those of its start
SECONDS = 10  # for one file
WAPITI_WORDS = [b"\n", b"#qrk#", b"9999999999", b"-1", b"%x[0,0]", b"nan", b"0x1p+999", b"?*", b","]


def crfsuite_copies(seed, n):
    items = [[{"a": 1, "b": 1}, {"b": 1, "c": 0.5}], [{"c": 1}]] * 3
    model = adaptag.train(items, [["X", "Y"], ["Z"]] * 3, passes=3)
    return test_crfsuite_models.mutations(crfsuite_bytes(model), n, seed)


def crfpp_copies(seed, n):
    data, words = test_crfpp_models.binary_model(), test_crfpp_models.WORDS
    return test_crfpp_models.mutations(data, n, seed, words)


def crfpp_text_copies(seed, n):
    data, words = test_crfpp_models.text_model(), test_crfpp_models.TEXT_WORDS
    return test_crfpp_models.mutations(data, n, seed, words)


def wapiti_copies(seed, n):
    patterns = test_wapiti_models.PATTERNS
    seen = dict.fromkeys(
        observation(pattern, sentence, t)
        for sentence in test_wapiti_models.sentences(1, 6)
        for t in range(len(sentence))
        for pattern in patterns
    )
    rng = np.random.default_rng(2)
    weights = {name: rng.normal(size=test_wapiti_models.weights_of(name)) for name in seen}
    data = test_wapiti_models.model_file(weights)
    damaged = test_crfpp_models.mutations(data, n, seed, WAPITI_WORDS)
    strings = b"\n".join([b"\n".join(pattern.encode() for pattern in patterns), b"", *weights])
    damaged_strings = test_crfpp_models.mutations(strings, n, seed, WAPITI_WORDS)
    tail = data[data.rindex(b",\n") + 2 :]
    for k, (copy, text) in enumerate(zip(damaged, damaged_strings, strict=True)):
        yield copy if k % 2 else _wapiti_of(text, tail)


def _wapiti_of(text, tail):
    """A file with damaged strings whose lengths are right."""
    patterns, _, names = text.partition(b"\n\n")
    parts = [b"#mdl#2#%d\n" % tail.count(b"\n")]
    listed = patterns.split(b"\n")
    parts += [b"#rdr#%d/1/0\n" % len(listed), *map(test_wapiti_models.netstring, listed)]
    for strings in (test_wapiti_models.LABELS, names.split(b"\n")):
        parts += [b"#qrk#%d\n" % len(strings), *map(test_wapiti_models.netstring, strings)]
    return b"".join([*parts, tail])


READERS = {  # copies, reader and writer
    "crfsuite": (crfsuite_copies, read_crfsuite, crfsuite_bytes),
    "crf++": (crfpp_copies, read_crfpp, None),
    "crf++ text": (crfpp_text_copies, read_crfpp_text, crfpp_text),
    "wapiti": (wapiti_copies, read_wapiti, wapiti_bytes),
}


def try_file(reader, writer, data, *, write):
    """Read a file, and use what it gives: whether it is a model."""
    try:
        chain = reader(data, "f")
    except ModelError:
        return False
    model = Model(chain.labels, chain.index, chain.weights)
    if model.index.template.attributes:
        tokens = {"a": 1.0, "b": 0.5}
    else:
        tokens = ("a", "b", *["c"] * model.index.n_columns)[: model.index.n_columns]
    if len(model.tag([tokens] * 3)) != 3:
        raise AssertionError("not three labels")
    if write and writer is not None:
        with contextlib.suppress(ModelError):
            writer(chain)
    return True


def run_batch(name, seed, n, keep, results):
    """Read ``n`` copies in this process."""
    make_copies, reader, writer = READERS[name]
    signal.signal(signal.SIGALRM, _too_slow)
    copies = make_copies(seed, n)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    n_models, slowest, failures = 0, 0.0, []
    for k, data in enumerate(copies):
        begin = time.monotonic()
        signal.alarm(SECONDS)
        try:
            n_models += try_file(reader, writer, data, write=k % 10 == 0)
        except BaseException as error:
            failures.append(f"{name}, seed {seed}, file {k}: {type(error).__name__}: {error}"[:200])
            if keep is not None:
                (keep / f"{name.replace(' ', '-')}-{seed}-{k}").write_bytes(data)
        signal.alarm(0)
        slowest = max(slowest, time.monotonic() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    results.put((n, n_models, slowest, peak, failures))


def _too_slow(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path, help="folder for files that fail")
    arguments = parser.parse_args()
    begin, n_files, failures = time.monotonic(), 0, []
    totals = {name: [0, 0] for name in READERS}
    slowest, peak = 0.0, 0
    seeds = random.Random(arguments.seed)
    while n_files < arguments.files and time.monotonic() - begin < arguments.seconds:
        for name in READERS:
            n = min(BATCH, arguments.files - n_files)
            if n <= 0:
                break
            seed = seeds.randrange(1 << 60)
            context = multiprocessing.get_context("fork")
            results = context.SimpleQueue()
            process = context.Process(
                target=run_batch, args=(name, seed, n, arguments.keep, results)
            )
            process.start()
            process.join()
            n_files += n
            if process.exitcode != 0 or results.empty():
                failures.append(f"{name}, seed {seed}: the process ended with {process.exitcode}")
                continue
            done, n_models, seconds, memory, failed = results.get()
            totals[name][0] += done
            totals[name][1] += n_models
            slowest, peak = max(slowest, seconds), max(peak, memory)
            failures += failed
        counts = ", ".join(f"{name} {n:,} ({m:,} models)" for name, (n, m) in totals.items())
        print(
            f"{n_files:,} files in {time.monotonic() - begin:.0f} s: {counts}; slowest file "
            f"{slowest:.2f} s, peak memory of a process {peak >> 20} MiB, {len(failures)} failures",
            flush=True,
        )
    print("\n".join(failures[:20]))
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
