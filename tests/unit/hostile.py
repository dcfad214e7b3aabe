"""Model files made to do harm, with valid checksums; run as a program it tries each in a process.

Prints JSON: for each case what became of it — ``refused: …``, ``usable``, or what went wrong.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import rich.table  # noqa: F401  once, for all children

import adaptag
from adaptag._native import core
from adaptag.cli.inspect import inspect
from adaptag.corpus.columns import ColumnCorpus
from adaptag.errors import AdaptagError, ModelError
from adaptag.model.linear_chain import VERSION
from adaptag.storage.tensors import write_tensors
from tests.unit.making import grow

TEMPLATE = "U:%x[0,0]\nU2:%lower[-1,0]/%x[0,0]\n*s:%shape[0,0]\nB\nBx:%x[0,0]\n"
SENTENCES = [["The", "cat", "sat"], ["A", "dog"], ["it", "sat", "1"]]
LABELS = [["B-X", "I-X", "O"], ["B-X", "I-X"], ["O", "O", "B-Y"]]
SECONDS = 2  # of processor time for one case; more is a hang
MEMORY = 2 << 30
NO_SUM = ("__metadata__", "checksum")


def model():
    return adaptag.train(SENTENCES, LABELS, template=TEMPLATE, passes=3)


BASE = model()


# ---- files ----------------------------------------------------------------------------------


def craft(tensors=None, without="", kind="model", **header):
    """A well-formed file whose content was altered."""
    index_head, arrays = BASE.index.to_file()
    index_head |= {k: v for k, v in header.items() if k in index_head}
    index_head.pop(without, None)
    head = {
        "version": VERSION,
        "labels": list(BASE.labels),
        "states": list(header.get("labels") or BASE.states),
        "index": index_head,
        "configuration": dict(BASE.configuration),
        "provenance": dict(BASE.provenance),
    }
    head |= {k: v for k, v in header.items() if k in head}
    head.pop(without, None)
    arrays = {f"index.{name}": array for name, array in arrays.items()}
    arrays = arrays | {"weights": BASE.weights} | (tensors or {})
    arrays.pop(without, None)
    file = io.BytesIO()
    write_tensors(file, kind, head, arrays)
    return file.getvalue()


def parts(data=None):
    """The JSON entries of a file, and its bytes behind the header."""
    data = data or craft()
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), data[start:]


def sealed(text, payload):
    """A file with this header, entries or text, and checksums to match."""
    entries = text if isinstance(text, dict) else {}
    text = json.dumps(text) if entries else text
    text = text.encode(errors="surrogateescape")
    text += b" " * (-len(text) % 8)
    head = np.frombuffer(len(text).to_bytes(8, "little") + text, np.uint8)
    total = 0
    with contextlib.suppress(Exception):
        places = [e["data_offsets"] for k, e in entries.items() if k not in NO_SUM]
        for begin, end in sorted(places, key=lambda place: place[0]):
            total = core.checksum(np.frombuffer(payload[begin:end], np.uint8), total)
    sums = np.array([core.checksum(head, 0), total], "<u8").tobytes()
    return head.tobytes() + sums + payload[16:]


def entry(name, **changes):
    """A file with one tensor's entry changed."""
    entries, payload = parts()
    entries[name] |= changes
    return sealed(entries, payload)


def altered(change):
    """A file with its entries changed."""
    entries, payload = parts()
    return sealed(change(entries) or entries, payload)


def index(name):
    return BASE.index.tensors[name]


def garbage(array, seed=1):
    """Random bytes in the shape of an array."""
    noise = random.Random(seed).randbytes(array.nbytes)
    return np.frombuffer(noise, array.dtype).reshape(array.shape)


def full_table(table, n):
    """A hash table without an empty slot, all of whose numbers are in range."""
    noise = garbage(table, 2) >> np.uint64(32) << np.uint64(32)
    return noise | (np.arange(len(table), dtype=np.uint64) % np.uint64(n) + np.uint64(1))


def swapped(table, n):
    """The table with all numbers turned round, so that kinds come out of order."""
    low = table & np.uint64(0xFFFFFFFF)
    turned = (table >> np.uint64(32) << np.uint64(32)) | (np.uint64(n + 1) - low)
    return np.where(low > 0, turned, table)


def weights(value, step=1):
    changed = BASE.weights.copy()
    changed[::step] = value
    return {"weights": changed}


P = BASE.index.n_predicates
V = len(index("vocabulary_offsets")) - 1
NODE, BOTH, EDGE = BASE.index.n_of_kind
DEEP = 100_000
U32, I32 = np.uint32, np.int32

REFUSED = {
    "header longer than the file": lambda: (1 << 62).to_bytes(8, "little") + craft()[8:],
    "header length negative": lambda: b"\xff" * 8 + craft()[8:],
    "header just too long": lambda: (len(craft()) - 23).to_bytes(8, "little") + craft()[8:],
    "header nested": lambda: sealed("[" * DEEP + "]" * DEEP, parts()[1]),
    "header nested in objects": lambda: sealed('{"a":' * DEEP + "1" + "}" * DEEP, parts()[1]),
    "inner header nested": lambda: altered(
        lambda e: e["__metadata__"].update(header="[" * DEEP + "]" * DEEP)
    ),
    "header no JSON": lambda: sealed("{" * 64, parts()[1]),
    "header not UTF-8": lambda: sealed('{"\udcff": 1}', parts()[1]),
    "header a list": lambda: sealed("[]", parts()[1]),
    "header a number": lambda: sealed("1" * 100, parts()[1]),
    "header a number of 5000 digits": lambda: sealed("1" * 5000, parts()[1]),
    "no metadata": lambda: altered(lambda e: e.pop("__metadata__") and None),
    "metadata a list": lambda: altered(lambda e: e.update(__metadata__=[])),
    "inner header missing": lambda: altered(lambda e: e["__metadata__"].pop("header") and None),
    "inner header a number": lambda: altered(lambda e: e["__metadata__"].update(header=1)),
    "inner header a list": lambda: altered(lambda e: e["__metadata__"].update(header="[1]")),
    "no checksum": lambda: altered(lambda e: e.pop("checksum") and None),
    "a dataset": lambda: craft(kind="dataset"),
    "dtype unknown": lambda: entry("weights", dtype="F16"),
    "dtype a list": lambda: entry("weights", dtype=[]),
    "dtype of other size": lambda: entry("weights", dtype="F64"),
    "weights as integers": lambda: entry("weights", dtype="I32"),
    "slots as numbers": lambda: entry("index.slots", dtype="F64"),
    "offsets signed": lambda: entry("index.vocabulary_offsets", dtype="I32"),
    "shape negative": lambda: entry("weights", shape=[-len(BASE.weights)]),
    "shape twice negative": lambda: entry("weights", shape=[-1, -len(BASE.weights)]),
    "shape unknown": lambda: entry("weights", shape=[-1]),
    "shape empty": lambda: entry("weights", shape=[]),
    "shape of two dimensions": lambda: entry("weights", shape=[1, len(BASE.weights)]),
    "shape of 100 dimensions": lambda: entry("weights", shape=[1] * 100 + [len(BASE.weights)]),
    "shape a word": lambda: entry("weights", shape="x"),
    "shape null": lambda: entry("weights", shape=None),
    "shape infinite": lambda: entry("weights", shape=[float("inf")]),
    "shape not a number": lambda: entry("weights", shape=[float("nan")]),
    "shape nested": lambda: entry("weights", shape=[[len(BASE.weights)]]),
    "shape huge and empty": lambda: entry("weights", shape=[2**70, 0], data_offsets=[16, 16]),
    "places negative": lambda: entry("weights", data_offsets=[-4 * len(BASE.weights), 0]),
    "places reversed": lambda: entry("weights", data_offsets=[99, 16]),
    "places beyond the end": lambda: entry("weights", data_offsets=[2**40, 2**40 + 8]),
    "places beyond 64 bits": lambda: entry("weights", data_offsets=[2**70, 2**70 + 8]),
    "places of one number": lambda: entry("weights", data_offsets=[16]),
    "places null": lambda: entry("weights", data_offsets=None),
    "places fractional": lambda: entry("weights", data_offsets=[16.5, 20.5]),
    "places misaligned": lambda: entry(
        "index.slots", data_offsets=[17, 17 + index("slots").nbytes]
    ),
    "an entry null": lambda: altered(lambda e: e.update(weights=None)),
    "an entry missing its shape": lambda: altered(lambda e: e["weights"].pop("shape") and None),
    "bytes added": lambda: craft() + bytes(8),
    **{
        f"without {name}": lambda name=name: craft(without=name)
        for name in ["weights", "template", "attributes", "n_of_kind", "n_columns", "hashed",
                     "labels", "version", "index", "configuration", "provenance",
                     *(f"index.{t}" for t in BASE.index.tensors)]
    },
    "version 2": lambda: craft(version=2),
    "version null": lambda: craft(version=None),
    "template empty": lambda: craft(template=""),
    "template a number": lambda: craft(template=5),
    "template bad": lambda: craft(template="U:%x[0"),
    "template of a column beyond int": lambda: craft(
        template=TEMPLATE.replace("0,0", "0,9999999999")
    ),
    "template of a column beyond 4300 digits": lambda: craft(template=f"U:%x[0,{'9' * 5000}]"),
    "template of more columns": lambda: craft(template="U:%x[0,0]/%lower[0,0]/%shape[0,0]/%x[0,1]"),
    "attributes with macros": lambda: craft(attributes=True),
    "kinds negative": lambda: craft(n_of_kind=[P + 1, -1, 0]),
    "kinds of another sum": lambda: craft(n_of_kind=[NODE, BOTH, EDGE + 1]),
    "kinds infinite": lambda: craft(n_of_kind=[float("inf"), 0, 0]),
    "kinds of 100 digits": lambda: craft(n_of_kind=[10**100, -(10**100), P]),
    "kinds two": lambda: craft(n_of_kind=[NODE, BOTH + EDGE]),
    "kinds words": lambda: craft(n_of_kind=["a", "b", "c"]),
    "kinds null": lambda: craft(n_of_kind=None),
    "kinds moved": lambda: craft(n_of_kind=[NODE - 1, BOTH, EDGE + 1]),
    "labels none": lambda: craft(labels=[]),
    "labels null": lambda: craft(labels=None),
    "labels one less": lambda: craft(labels=BASE.labels[:-1]),
    "labels many more": lambda: craft(labels=[f"L{k}" for k in range(40_000)]),
    "labels all alike": lambda: craft(labels=["A"] * len(BASE.labels)),
    "provenance null": lambda: craft(provenance=None),
    "index null": lambda: craft(index=None),
    "index of another kind": lambda: craft(index={"kind": "characters"}),
    "index of an unknown kind": lambda: craft(index={"kind": "x"}),
    "columns negative": lambda: craft(n_columns=-1),
    "columns of attributes": lambda: craft(n_columns=None),
    "columns a word": lambda: craft(n_columns="many"),
    "columns too few": lambda: craft(template=TEMPLATE.replace("0,0", "0,1")),
    "configuration null": lambda: craft(configuration=None),
    "configuration a word": lambda: craft(configuration="word"),
    "label section a word": lambda: craft(configuration={"labels": "x"}),
    "label scheme unknown": lambda: craft(configuration={"labels": {"scheme": "x"}}),
    "metric a number": lambda: craft(
        configuration={"labels": {"scheme": None, "metric": 1, "in_feature_column": True}}
    ),
    "provenance a word": lambda: craft(provenance="word"),
    "slots of 3": lambda: craft({"index.slots": index("slots")[:3]}),
    "slots none": lambda: craft({"index.slots": index("slots")[:0]}),
    "vocabulary slots of 3": lambda: craft({"index.vocabulary_slots": index("slots")[:3]}),
    "vocabulary slots none": lambda: craft({"index.vocabulary_slots": index("slots")[:0]}),
    "offsets none": lambda: craft({"index.vocabulary_offsets": np.zeros(0, U32)}),
    "offsets fewer": lambda: craft({"index.vocabulary_offsets": index("vocabulary_offsets")[:-1]}),
    "offsets more": lambda: craft({"index.vocabulary_offsets": np.zeros(V + 9, U32)}),
    "derived fewer": lambda: craft({"index.derived": index("derived")[:1]}),
    "derived flat": lambda: craft({"index.derived": index("derived").ravel()}),
    "keys fewer": lambda: craft({"index.keys": index("keys")[:-1]}),
    "keys flat": lambda: craft({"index.keys": index("keys")[:, 0].copy()}),
    "weights fewer": lambda: craft({"weights": BASE.weights[:-1]}),
    "weights more": lambda: craft({"weights": np.zeros(len(BASE.weights) + 1, np.float32)}),
    "weights none": lambda: craft({"weights": np.zeros(0, np.float32)}),
}  # fmt: skip

ODD = {
    "nothing changed": craft,
    "places overlap": lambda: entry("index.slots", data_offsets=[16, 16 + index("slots").nbytes]),
    "template of column 2147483647": lambda: craft(
        template=TEMPLATE.replace("0,0", "0,2147483647"), n_columns=2**31
    ),
    "template of column 2147483646": lambda: craft(
        template=TEMPLATE.replace("0,0", "0,2147483646"), n_columns=2**31 - 1
    ),
    "template of column 1": lambda: craft(template=TEMPLATE.replace("0,0", "0,1"), n_columns=2),
    "template of far rows": lambda: craft(
        template=TEMPLATE.replace("[0", "[1000").replace("[-1", "[-1000")
    ),
    "template of fewer lines": lambda: craft(template="U2:%lower[0,0]/%x[0,0]/%shape[0,0]"),
    "template of other kinds": lambda: craft(
        template="B:%x[0,0]\n*2:%lower[-1,0]/%x[0,0]\nUs:%shape[0,0]\n*\nUx:%x[0,0]\n"
    ),
    "template of many lines": lambda: craft(template=TEMPLATE * 300),
    "attributes": lambda: craft(
        {"index.derived": np.zeros((0, V), U32)}, attributes=True, template="B", n_columns=None
    ),
    "labels of other types": lambda: craft(labels=[None, 1, [], {}][: len(BASE.labels)]),
    "labels with NUL": lambda: craft(labels=["\0", "", "a\nb", "é"][: len(BASE.labels)]),
    "labels with a surrogate": lambda: craft(labels=["\ud800", "A", "B", "C"][: len(BASE.labels)]),
    "labels with markup": lambda: craft(labels=["[/x]", "[b]", "[", "]"][: len(BASE.labels)]),
    "provenance empty": lambda: craft(provenance={}),
    "provenance of other types": lambda: craft(provenance={"passes": 1, "parameters": "x"}),
    "provenance incomplete": lambda: craft(provenance={"passes": [{}], "best_pass": 99}),
    "provenance with markup": lambda: craft(provenance={"[/x]": "[/y]"}),
    "slots full": lambda: craft({"index.slots": full_table(index("slots"), P)}),
    "slots out of range": lambda: craft({"index.slots": index("slots") | U32(0xFFFF0000)}),
    "slots garbage": lambda: craft({"index.slots": garbage(index("slots"))}),
    "slots all ones": lambda: craft({"index.slots": ~np.zeros_like(index("slots"))}),
    "slots turned round": lambda: craft({"index.slots": swapped(index("slots"), P)}),
    "slots one": lambda: craft({"index.slots": index("slots")[:1]}),
    "vocabulary slots full": lambda: craft(
        {"index.vocabulary_slots": full_table(index("vocabulary_slots"), V)}
    ),
    "vocabulary slots garbage": lambda: craft(
        {"index.vocabulary_slots": garbage(index("vocabulary_slots"))}
    ),
    "vocabulary slots out of range": lambda: craft(
        {"index.vocabulary_slots": index("vocabulary_slots") | U32(0xFFFF0000)}
    ),
    "offsets garbage": lambda: craft(
        {"index.vocabulary_offsets": garbage(index("vocabulary_offsets"))}
    ),
    "offsets falling": lambda: craft(
        {"index.vocabulary_offsets": index("vocabulary_offsets")[::-1].copy()}
    ),
    "offsets beyond the bytes": lambda: craft(
        {"index.vocabulary_offsets": index("vocabulary_offsets") + U32(10**9)}
    ),
    "bytes none": lambda: craft({"index.vocabulary_bytes": np.zeros(0, np.uint8)}),
    "bytes not UTF-8": lambda: craft(
        {"index.vocabulary_bytes": index("vocabulary_bytes") | np.uint8(0x80)}
    ),
    "derived garbage": lambda: craft({"index.derived": garbage(index("derived"))}),
    "derived of another shape": lambda: craft({"index.derived": index("derived").T.copy()}),
    "keys garbage": lambda: craft({"index.keys": garbage(index("keys"))}),
    "keys of no width": lambda: craft({"index.keys": index("keys")[:, :0].copy()}),
    "keys narrow": lambda: craft({"index.keys": index("keys")[:, :1].copy()}),
    "keys wide": lambda: craft({"index.keys": np.repeat(index("keys"), 3, axis=1)}),
    "keys of no token": lambda: craft({"index.keys": index("keys") | U32(0xFFFFFFFE)}),
    "weights NaN": lambda: craft(weights(np.nan)),
    "weights some NaN": lambda: craft(weights(np.nan, 7)),
    "weights infinite": lambda: craft(weights(np.inf)),
    "weights minus infinite": lambda: craft(weights(-np.inf)),
    "weights some infinite": lambda: craft(weights(np.inf, 3)),
    "weights some minus infinite": lambda: craft(weights(-np.inf, 3)),
    "weights 1e38": lambda: craft(weights(1e38)),
    "weights -1e38": lambda: craft(weights(-1e38)),
    "weights garbage": lambda: craft({"weights": garbage(BASE.weights)}),
}


# ---- using them -----------------------------------------------------------------------------

TRIED = [[], ["The", "cat", "sat"], ["unknown"], ["dog", "_B-1", "é"] * 12]


def uses(loaded, path):
    """Everything that can be done with a model, by name."""

    def look():
        with contextlib.redirect_stdout(io.StringIO()):
            inspect(path, top=99, verify=True)

    for s in TRIED:
        yield "tag", lambda s=s: check_tags(loaded, s, loaded.tag(s))
        yield "decode", lambda s=s: check_tags(loaded, s, loaded.tag(s))
        yield "legal", lambda s=s: loaded.tag(s, legal="iob2")
        yield "marginals", lambda s=s: loaded.marginals(s)
        yield "nbest", lambda s=s: loaded.nbest(s[:5], 3)
        yield "probability", lambda s=s: loaded.probability(s, [loaded.labels[0]] * len(s))
        yield "segments", lambda s=s: loaded.segments(s)
    if not np.isfinite(loaded.weights).all() or abs(loaded.weights).max() > 1e30:
        yield "long nbest", lambda: loaded.nbest(TRIED[-1], 3)
    yield "tag_all", lambda: loaded.tag_all(TRIED)
    yield "grow", lambda: grow(loaded.index, ColumnCorpus.from_sentences(TRIED))
    for p in range(loaded.index.n_predicates):
        yield "name", lambda p=p: loaded.index.name(p).encode(errors="replace")
    yield "inspect", look
    yield "rows", lambda: (loaded.node_weights(), loaded.edge_weights())
    yield "pickle", lambda: pickle.loads(pickle.dumps(loaded)).labels


def check_tags(loaded, sentence, tags):
    if len(tags) != len(sentence) or not set(tags) <= set(loaded.labels):
        raise RuntimeError(f"tags {tags}")


def raised(use):
    """What a use raised that it should not."""
    try:
        use()
    except AdaptagError:
        return ""
    except Exception as error:
        return repr(error)[:200]
    return ""


def attempt(make, path):
    """Load a file and use the model in every way: what became of it."""
    path.write_bytes(make())
    try:
        loaded = adaptag.Model.load(path)
    except ModelError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"loading raised {error!r}"
    tried = [(name, raised(use)) for name, use in uses(loaded, path)]
    wrong = {name: f"{name} raised {what}" for name, what in tried if what}
    return "; ".join(wrong.values()) or "usable"


def in_child(make, path):
    """Attempt in a process of its own, which may die."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if not os.environ.get("ADAPTAG_SANITIZED"):  # such a build reserves terabytes
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.write(writer, attempt(make, path).encode(errors="replace")[:60_000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"died of {signal.Signals(os.WTERMSIG(status)).name}"
    return said or f"exit code {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        cases = (REFUSED | ODD).items()
        fates = {name: in_child(make, Path(folder) / "m") for name, make in cases}
    json.dump(fates, sys.stdout)
