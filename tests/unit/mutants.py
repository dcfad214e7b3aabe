"""Random mutants of every kind of file, with valid checksums; run as a program it tries many.

Prints one line for each kind of file, and each distinct thing that went wrong with the seed of a
mutant: ``python -m tests.unit.mutants 5000 model segmenter``. What must not happen is an exception
that is no ``AdaptagError``, a signal, a hang, or more memory than allowed.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import pickle
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import rich.table  # noqa: F401  once, for all children

import adaptag
from adaptag.cli.inspect import inspect
from adaptag.errors import AdaptagError
from adaptag.loading import load
from adaptag.storage.tensors import DTYPES
from tests.unit.hostile import sealed

SECONDS = 20  # of processor time for one mutant; more is a hang
MEMORY = 3 << 30
BATCH = 50

TEMPLATE = "U:%x[0,0]\nU2:%lower[-1,0]/%x[0,0]\n*s:%shape[0,0]\nB\nBx:%x[0,0]\n"
SENTENCES = [["The", "cat", "sat"], ["A", "dog"], ["it", "sat", "1"]]
LABELS = [["B-X", "I-X", "O"], ["B-X", "I-X"], ["O", "O", "B-Y"]]
WORDS = [["天天", "中国", "人"], ["中国", "人民"], ["天", "abc", "民"]]
TEXTS = ["good film", "bad film", "good good", "bad"]
CLASSES = ["p", "n", "p", "n"]
TRIED = [[], ["The", "cat", "sat"], ["unknown"], ["dog", "_B-1", "é"] * 12]
TRIED_TEXTS = ["", "天天中国人民abc", "The 中国 人 film\ngood", "民" * 40]


# ---- files of each kind -------------------------------------------------------------------------


def saved(thing):
    with tempfile.TemporaryDirectory() as folder:
        thing.save(Path(folder) / "f")
        return (Path(folder) / "f").read_bytes()


def tagger(**options):
    return adaptag.train(SENTENCES, LABELS, template=TEMPLATE, passes=3, **options)


def segmenter():
    trained = adaptag.Segmenter.train(WORDS, passes=2, dev=WORDS)
    trained.dictionary.add({"人民": 2.0, "天中": float("inf")})
    return trained


def classifier():
    return adaptag.DocumentClassifier.train(TEXTS, CLASSES, passes=2)


def attributes():
    items = [[{"w": word, "long": len(word)} for word in sentence] for sentence in SENTENCES]
    return adaptag.train(items, LABELS, passes=2)


def stream():
    trainer = adaptag.StreamTrainer(TEMPLATE)
    trainer.learn(SENTENCES, LABELS)
    return trainer.model()


def checkpoint():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        dev = (SENTENCES, LABELS)
        adaptag.train(SENTENCES, LABELS, template=TEMPLATE, passes=2, dev=dev, checkpoint=path)
        return path.read_bytes()


KINDS = {
    "model": lambda: tagger(dev=(SENTENCES, LABELS)).to_bytes(),
    "scheme": lambda: tagger(scheme="bioes").to_bytes(),
    "hashed": lambda: tagger(hash_bits=6).calibrated(SENTENCES, LABELS).to_bytes(),
    "attributes": lambda: attributes().to_bytes(),
    "stream": lambda: stream().to_bytes(),
    "compact": lambda: tagger().compact(prune=0.0).to_bytes(),
    "segmenter": lambda: segmenter().to_bytes(),
    "compact-segmenter": lambda: segmenter().compact(prune=0.0).to_bytes(),
    "classifier": lambda: classifier().to_bytes(),
    "compact-classifier": lambda: classifier().compact(prune=0.0).to_bytes(),
    "dataset": lambda: saved(adaptag.encode(SENTENCES, LABELS, template=TEMPLATE)),
    "checkpoint": checkpoint,
    "dictionary": lambda: "人民 2.5\n天中 force\n# comment\ncafé -1\n中国\n".encode(),
}


# ---- mutations ----------------------------------------------------------------------------------

VALUES = [
    None, True, False, -1, 0, 1, 2, 0.5, -0.5, 1e308, -1e308, 1e-320, float("inf"), float("-inf"),
    float("nan"), 2**31 - 1, 2**31, 2**32, 2**63, -(2**63), 2**64, 10**100, "", "x", "auto", "iob2",
    "bioes", "float32", "F1", "\ud800", "\0", "é" * 300, "1", [], [1], ["a", "a"], [[]], {},
    {"a": 1}, [None], {"scheme": "iob2"},
]  # fmt: skip
NUMBERS = [0, 1, -1, 127, 128, 255, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
FLOATS = [float("nan"), float("inf"), float("-inf"), 1e38, -1e38, 3e9, -3e9, 1e-40, 0.0]


def places(tree, path=()):
    """The paths of all values of a JSON tree but the root."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def mutate_tree(tree, rng):
    """Change, delete, copy or add one value of a JSON tree."""
    found = list(places(tree))
    if not found:
        return
    *path, key = rng.choice(found)
    parent = tree
    for step in path:
        parent = parent[step]
    kind = rng.random()
    if kind < 0.12 and isinstance(parent, dict):
        del parent[key]
    elif kind < 0.2 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(rng.choice(parent)))
    elif kind < 0.35 and isinstance(parent[key], (int, float)):
        parent[key] += rng.choice([-1, 1, 0.5, 2**31])
    elif kind < 0.45:
        other = tree
        for step in rng.choice(found):
            other = other[step]
        parent[key] = copy.deepcopy(other)
    else:
        parent[key] = copy.deepcopy(rng.choice(VALUES))


def mutate_array(array, rng):
    """Change some numbers of an array in place."""
    flat = array.reshape(-1)
    if not len(flat):
        return
    kind = rng.random()
    if kind < 0.1:
        flat[:] = flat[::-1].copy()
    elif kind < 0.2:
        flat.view(np.uint8)[:] = rng.choice([0, 1, 127, 128, 255])
    elif kind < 0.3:
        flat.view(np.uint8)[:] = np.frombuffer(rng.randbytes(flat.nbytes), np.uint8)
    else:
        for _ in range(rng.choice([1, 1, 2, 8, 50])):
            place = rng.randrange(len(flat))
            if array.dtype.kind == "f":
                flat[place] = rng.choice(FLOATS)
            elif rng.random() < 0.5:
                number = np.array([rng.choice(NUMBERS) & (2**64 - 1)], np.uint64)
                flat[place] = number.view(np.uint8)[: array.dtype.itemsize].view(array.dtype)[0]
            else:
                flat.view(np.uint8)[rng.randrange(flat.nbytes)] ^= 1 << rng.randrange(8)


def mutant(data, rng):
    """A changed file whose checksums are right."""
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    payload = bytearray(data[start:])
    header = json.loads(entries["__metadata__"]["header"])
    arrays = [name for name in entries if name not in ("__metadata__", "checksum")]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        kind = rng.random()
        if kind < 0.5:
            mutate_tree(header, rng)
        elif kind < 0.55:
            mutate_tree(entries, rng)
            arrays = []
        elif kind < 0.62 and arrays:
            entry = entries[rng.choice(arrays)]
            if rng.random() < 0.5:
                entry["dtype"] = rng.choice(list(DTYPES))
            else:
                rng.shuffle(entry["shape"])
        elif arrays:
            name = rng.choice(arrays)
            begin, end = entries[name]["data_offsets"]
            dtype = DTYPES[entries[name]["dtype"]]
            whole = end - (end - begin) % dtype.itemsize  # of a type that was changed
            mutate_array(np.frombuffer(payload, np.uint8)[begin:whole].view(dtype), rng)
    with contextlib.suppress(TypeError, KeyError):
        entries["__metadata__"]["header"] = json.dumps(header)
    return sealed(entries, bytes(payload))


def mutant_text(data, rng):
    """A text file with bytes changed, copied and removed."""
    text = bytearray(data)
    pool = [b"\0", b"\xff", b"\r", b"\n", b" ", b"\t", b"nan", b"inf", b"1e400", b"\xed\xa0\x80"]
    for _ in range(rng.choice([1, 2, 5])):
        place = rng.randrange(len(text) + 1)
        kind = rng.random()
        if kind < 0.4:
            text[place:place] = rng.choice(pool)
        elif kind < 0.7:
            del text[place : place + rng.choice([1, 2, 9])]
        else:
            text[place:place] = text[rng.randrange(len(text) + 1) :][: rng.randrange(20)]
    return bytes(text)


# ---- uses ---------------------------------------------------------------------------------------


def shown(thing):
    return [repr(thing), str(thing), thing._repr_html_() if hasattr(thing, "_repr_html_") else ""]


def looked_at(path):
    with contextlib.redirect_stdout(io.StringIO()):
        inspect(path, top=9, verify=True)


def uses_of_model(model, path):
    attributes = model.index.template.attributes
    tried = [[{"w": word, "long": 2} for word in s] if attributes else s for s in TRIED]
    n = None if attributes else model.index.n_columns
    if n is not None and 1 < n < 5:
        tried = [[(word,) * n for word in sentence] for sentence in TRIED]
    yield "inspect", lambda: looked_at(path)
    yield "shown", lambda: shown(model)
    yield "tag_all", lambda: model.tag_all(tried)
    for s in tried:
        yield "tag", lambda s=s: model.tag(s)
        yield "legal", lambda s=s: model.tag(s, legal="auto")
        yield "marginals", lambda s=s: model.marginals(s)
        yield "nbest", lambda s=s: model.nbest(s[:5], 3)
        yield "probability", lambda s=s: model.probability(s, [model.labels[0]] * len(s))
        yield "segments", lambda s=s: model.segments(s)
        yield "explain", lambda s=s: shown(model.explain(s))
        yield "constraints", lambda s=s: model.tag(s, constraints={"at_most": {"B-X": 1}})
    labels = [[model.labels[k % len(model.labels)] for k in range(len(s))] for s in tried]
    yield "evaluate", lambda: shown(model.evaluate(tried[1:], labels[1:]))
    yield "calibration", lambda: shown(model.calibration(tried[1:], labels[1:]))
    yield "calibrated", lambda: model.calibrated(tried[1:], labels[1:]).temperature
    yield "compact", lambda: model.compact(prune=0.1).tag_all(tried)
    yield "start", lambda: adaptag.train(tried[1:], labels[1:], start=model, passes=1)
    yield "stream", lambda: adaptag.StreamTrainer(model).learn(tried[1:], labels[1:])
    yield "text", lambda: shown(model.tag_text("The cat sat\n中国"))
    yield "pickle", lambda: pickle.loads(pickle.dumps(model)).labels
    yield "names", lambda: [model.index.name(p) for p in range(min(40, model.index.n_predicates))]
    yield "rows", lambda: (model.node_weights(), model.edge_weights())


def uses_of_segmenter(loaded, path):
    yield "inspect", lambda: looked_at(path)
    yield "shown", lambda: shown(loaded)
    yield "cut_all", lambda: loaded.cut_all(TRIED_TEXTS)
    for text in TRIED_TEXTS:
        yield "cut", lambda text=text: check_cut(text, loaded.cut(text))
        yield "words", lambda text=text: loaded.words(text)
        yield "spaced", lambda text=text: loaded.spaced(text.encode())
    yield "evaluate", lambda: shown(loaded.evaluate(WORDS))
    yield "calibration", lambda: shown(loaded.calibration(WORDS))
    yield "calibrated", lambda: loaded.calibrated(WORDS).cut(TRIED_TEXTS[1])
    yield "new words", lambda: loaded.new_words(TRIED_TEXTS * 3)
    yield "lexicon", lambda: ("天" in loaded.lexicon_, len(loaded.lexicon_))
    yield "dictionary", lambda: (loaded.dictionary.add(["人人"]), loaded.cut(TRIED_TEXTS[1]))
    yield "compact", lambda: loaded.compact(prune=0.1).cut_all(TRIED_TEXTS)
    yield "partial_fit", lambda: loaded.partial_fit(WORDS).cut(TRIED_TEXTS[1])
    yield "pickle", lambda: pickle.loads(pickle.dumps(loaded)).cut(TRIED_TEXTS[1])


def check_cut(text, words):
    if "".join(words) != text:
        raise RuntimeError(f"words {words}")


def uses_of_classifier(loaded, path):
    yield "inspect", lambda: looked_at(path)
    yield "shown", lambda: shown(loaded)
    yield "predict", lambda: loaded.predict(TRIED_TEXTS)
    yield "evaluate", lambda: shown(loaded.evaluate(TEXTS, CLASSES))
    yield "calibration", lambda: shown(loaded.calibration(TEXTS, CLASSES))
    yield "calibrated", lambda: loaded.calibrated(TEXTS, CLASSES).predict(TRIED_TEXTS)
    yield "compact", lambda: loaded.compact(prune=0.1).predict(TRIED_TEXTS)
    yield "pickle", lambda: pickle.loads(pickle.dumps(loaded)).predict(TRIED_TEXTS)


def uses_of_dataset(loaded, path):
    yield "shown", lambda: repr(loaded)
    yield "train", lambda: adaptag.train(loaded, passes=1).tag_all(TRIED)
    yield "batch", lambda: adaptag.train(loaded, algorithm="lbfgs", passes=2)
    yield "select", lambda: loaded.select(np.arange(min(2, len(loaded))))
    yield "evaluate", lambda: tagger().evaluate(loaded)
    yield "by path", lambda: adaptag.train(path, passes=1)


def uses_of_checkpoint(loaded, path):
    options = {"template": TEMPLATE, "passes": 3, "resume": path}
    yield "shown", lambda: repr(loaded)
    yield "resume", lambda: adaptag.train(SENTENCES, LABELS, **options)
    dev = (SENTENCES, LABELS)
    yield "with dev", lambda: adaptag.train(SENTENCES, LABELS, dev=dev, **options)
    yield "save", lambda: loaded.save(path)


def uses_of_dictionary(_, path):
    trained = segmenter()
    yield "load", lambda: trained.dictionary.load(path)
    yield "cut", lambda: trained.cut_all(TRIED_TEXTS)
    yield "save", lambda: adaptag.Segmenter.from_bytes(trained.to_bytes())


def opened(kind, path):
    """Load a file of a kind: what it holds, and what can be done with it."""
    if kind == "dictionary":
        return None, uses_of_dictionary
    if kind == "dataset":
        return adaptag.Dataset.load(path), uses_of_dataset
    if kind == "checkpoint":
        from adaptag.training.checkpoint import Checkpoint

        return Checkpoint.load(path), uses_of_checkpoint
    loaded = load(path)
    users = {"segmenter": uses_of_segmenter, "classifier": uses_of_classifier}
    return loaded, users.get(loaded.kind, uses_of_model)


def said(error):
    """An exception in a line, without what differs from one mutant to the next."""
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
    return f"{type(error).__name__} at {place}: {re.sub('[0-9]+', '0', str(error))[:80]}"


def attempt(kind, data, seed, path):
    """Try a mutant in every way: whether it was refused, and what went wrong."""
    rng = random.Random(f"{kind} {seed}")
    path.write_bytes((mutant_text if kind == "dictionary" else mutant)(data, rng))
    try:
        loaded, users = opened(kind, path)
    except AdaptagError:
        return True, []
    except Exception as error:
        return False, [f"load: {said(error)}"]
    wrong = []
    for name, use in users(loaded, path):
        if fault := raised(use):
            wrong.append(f"{name}: {fault}")
    return False, wrong


def raised(use):
    """What a use raised that it should not."""
    try:
        use()
    except AdaptagError:
        return ""
    except Exception as error:
        return said(error)
    return ""


# ---- many of them -------------------------------------------------------------------------------


def child(kind, data, seeds, path, writer):
    """Try some mutants, a line of JSON before and after each."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if not os.environ.get("ADAPTAG_SANITIZED"):  # such a build reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with os.fdopen(writer, "w") as pipe:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            pipe.write(json.dumps([seed]) + "\n")
            pipe.flush()
            pipe.write(json.dumps([seed, *attempt(kind, data, seed, path)]) + "\n")
            pipe.flush()


def tried(kind, data, seeds, path):
    """The outcomes of mutants: how many were refused, and what went wrong, by seed."""
    refused, wrong, left = 0, {}, list(seeds)
    while left:
        batch = left[:BATCH]
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            try:
                child(kind, data, batch, path, writer)
            except BaseException:
                traceback.print_exc()
                os._exit(99)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            lines = [json.loads(line) for line in pipe]
        _, status = os.waitpid(process, 0)
        done = [line for line in lines if len(line) == 3]
        refused += sum(line[1] for line in done)
        wrong |= {seed: faults for seed, _, faults in done if faults}
        n = len(done)
        if n < len(batch):
            code = os.waitstatus_to_exitcode(status)
            died = f"died of {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            wrong[batch[n]] = [died]
            n += 1
        left = left[n:]
    return refused, wrong


def main(count, kinds, first=0):
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or KINDS:
            data = KINDS[kind]()
            seeds = range(first, first + count)
            refused, wrong = tried(kind, data, seeds, Path(folder) / "m")
            print(f"{kind:20} {count:7,} mutants, {refused:7,} refused, {len(wrong):5,} wrong")
            distinct = {}
            for seed, faults in wrong.items():
                for fault in faults:
                    distinct.setdefault(fault, []).append(seed)
            for fault, seeds in sorted(distinct.items(), key=lambda item: -len(item[1])):
                print(f"    {len(seeds):5} {fault}  (seed {seeds[0]})", flush=True)
            bad |= bool(wrong)
    return int(bad)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    names = [word for word in sys.argv[1:] if not word.isdigit()]
    sys.exit(main(*(numbers[:1] or [500]), names, *numbers[1:]))
