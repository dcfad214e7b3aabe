"""What a token costs at least: rows, bytes and operations, counted from the encoded data.

usage: python workload.py conll2000|pku|bio-ner|sentiment FILE

Prints one JSON object with what training (ADF) and decoding need per token: of a classifier, per
feature of a document. Bytes that do not come from a level of the cache are found by simulating it,
least recently used lines first, on a sample of the sentences in random order. "in cache" is what a
token takes where all rows lie in the cache: passes over few sentences, timed.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import adaptag
from adaptag._native import core
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.dataset.encoded import Examples
from adaptag.features.characters import CharacterIndex
from adaptag.features.index import Encoded
from adaptag.features.settings import CharacterFeatures
from adaptag.training.algorithms import algorithm
from adaptag.training.online import Trainer

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = 64  # bytes
SAMPLE = 1_500_000  # rows, of which the first half only fills the caches
EXP = 15  # operations of an exponential
CHARACTER_SCORES, BIGRAM_SCORES = 5 * 8, 4 * 8  # int16
SLOT = 16  # bytes of an entry of the table of patterns
DOCUMENT_ROW = 16  # bytes of a weight and its state
LEVELS = ("L1", "L2", "L3")
SIZES = {"L1": 32 << 10, "L2": 1 << 20, "L3": 32 << 20}  # where the system does not say


class Data(NamedTuple):
    """Encoded sentences and how their weights lie in memory."""

    examples: Examples | None  # what can be trained on
    encoded: Encoded  # what is read
    n_labels: int  # Y
    width: int  # W
    starts: np.ndarray  # [predicates + 1] first weight of each row
    state: int  # bytes of a row's training state
    rich: bool  # whether every token has its own edge weights
    total: int = 0  # tokens of a pass, where these are not all


def rows_of(n_labels: int, kinds: tuple[int, int, int]) -> np.ndarray:
    """Where rows begin: node rows [W], node and edge rows [W] [Y, W], edge rows [Y, W]."""
    layout = core.Layout(n_labels, *kinds)
    edge = n_labels * layout.width
    sizes = np.repeat([layout.width, layout.width + edge, edge], kinds)
    return np.concatenate([[0], np.cumsum(sizes)])


def once_a_sentence(e: Encoded, first_edge: int) -> Encoded:
    """Edge features at the last token only: where all tokens have the same, one matrix serves."""
    last = np.zeros(len(e.positions) - 1, bool)
    last[e.sentences[1:] - 1] = True
    token = np.repeat(np.arange(len(last)), np.diff(e.positions))
    kept = (e.predicates < first_edge) | last[token]
    counts = np.bincount(token[kept], minlength=len(last))
    positions = np.concatenate([[0], np.cumsum(counts)])
    return Encoded(e.sentences, positions, e.predicates[kept], None)


def load(task: str, path: Path) -> Data:
    state = np.dtype(list(algorithm("adf").row_state)).itemsize
    if task == "sentiment":  # rows of 16 bytes in the order of first use: see adf_documents.hpp
        file = np.load(path)
        names = [name.removesuffix(" indptr") for name in file if name.endswith("train indptr")]
        offsets, ids = file[f"{names[0]} indptr"], file[f"{names[0]} indices"]
        _, first, number = np.unique(ids, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.uint32)
        rank[np.argsort(first)] = np.arange(len(first))
        encoded = Encoded(np.arange(len(offsets)), offsets.astype(np.int64), rank[number], None)
        starts = DOCUMENT_ROW // 4 * np.arange(len(first) + 1)
        total = sum(len(file[f"{name} indices"]) for name in names)
        return Data(None, encoded, 2, 1, starts, 0, False, total)
    if task == "pku":
        corpus = SegmentedCorpus.read(path)
        index = CharacterIndex.build(corpus, CharacterFeatures())
        encoded, names = index.encode(corpus), ("B", "I", "E")
        labels = np.random.default_rng(1).integers(3, size=len(encoded.positions) - 1)
        examples = Examples(index, encoded, labels.astype(np.int32), names)  # for times only
    else:
        template = {"conll2000": "chunking", "bio-ner": "bio-ner"}[task]
        examples = adaptag.encode(path, template=template)
    kinds, n_labels = examples.index.n_of_kind, len(examples.label_names)
    encoded, rich = examples.encoded, kinds[1] > 0
    if not rich:
        encoded = once_a_sentence(encoded, kinds[0])
    starts, width = rows_of(n_labels, kinds), examples.layout.width
    return Data(examples, encoded, n_labels, width, starts, state, rich)


def cache_size(level: str) -> int:
    """Bytes of a level of the cache of this machine."""
    index = {"L1": 0, "L2": 2, "L3": 3}[level]
    file = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size")
    if not file.is_file():
        return SIZES[level]
    text = file.read_text(encoding="ascii").strip()
    return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)


class Cache:
    """Blocks of memory, the least recently used of which leave first."""

    def __init__(self, size: int) -> None:
        self.free = size
        self.blocks: OrderedDict[int, int] = OrderedDict()

    def misses(self, block: int, size: int) -> bool:
        """Bring a block of so many bytes in; whether it was not there."""
        blocks = self.blocks
        if block in blocks:
            blocks.move_to_end(block)
            return False
        blocks[block] = size
        self.free -= size
        while self.free < 0:
            self.free += blocks.popitem(last=False)[1]
        return True


def touched(data: Data, training: bool) -> Iterator[tuple[int, int, int]]:
    """Blocks in the order they are used: a number, its bytes, and the number of tokens so far."""
    e = data.encoded
    tokens, rows = 0, 0
    first_line, last_line = data.starts[:-1] * 4 // LINE, (data.starts[1:] * 4 - 1) // LINE
    for k in np.random.default_rng(1).permutation(len(e.sentences) - 1):
        begin, end = e.sentences[k], e.sentences[k + 1]
        ids = e.predicates[e.positions[begin] : e.positions[end]]
        blocks, sizes = first_line[ids], (last_line[ids] - first_line[ids] + 1) * LINE
        visits = list(zip(blocks.tolist(), sizes.tolist(), strict=True))
        if training and data.state:  # it lies elsewhere; rows are read, and later updated
            states = (-1 - ids.astype(np.int64) * data.state // LINE).tolist()
            visits = [
                pair for row, s in zip(visits, states, strict=True) for pair in (row, (s, LINE))
            ]
            visits *= 2
        for block, size in visits:
            yield block, size, tokens
        tokens += int(end - begin) if data.width > 1 else len(ids)
        rows += len(ids)
        if rows > SAMPLE:
            return


def beyond(visits: list[tuple[int, int, int]], training: bool) -> dict[str, float]:
    """Bytes and blocks per token that come from beyond each level of the cache."""
    caches = {level: Cache(cache_size(level)) for level in LEVELS}
    half = len(visits) // 2
    found = dict.fromkeys(
        [f"{what} beyond {level}" for level in LEVELS for what in ("bytes", "blocks")], 0.0
    )
    for number, (block, size, _) in enumerate(visits):
        for level, cache in caches.items():
            if cache.misses(block, size) and number >= half:
                found[f"bytes beyond {level}"] += size
                found[f"blocks beyond {level}"] += 1
    tokens = max(1, visits[-1][2] - visits[half][2])
    back = 2 if training else 1  # what was changed is written back
    return {
        name: value / tokens * (back if name.startswith("bytes") else 1)
        for name, value in found.items()
    }


def in_cache(data: Data) -> float:
    """Ns per token of training on so few sentences that their rows and states fit into L2."""
    e, taken, used = data.encoded, [], set[int]()
    sizes = 4 * np.diff(data.starts) + data.state
    room = cache_size("L2") // 2
    for k in range(len(e.sentences) - 1):
        ids = e.predicates[e.positions[e.sentences[k]] : e.positions[e.sentences[k + 1]]]
        new = set(ids.tolist()) - used
        room -= int(sizes[list(new)].sum())
        if room < 0:
            break
        used |= new
        taken.append(k)
    assert data.examples is not None
    trainer = Trainer(data.examples, algorithm("adf"), {})
    tokens = int(np.diff(e.sentences)[taken].sum())
    order = np.tile(np.array(taken, np.uint32), 1 + 10_000 // tokens)
    seconds = []
    for _ in range(20):
        begin = time.perf_counter()
        trainer.run(order)
        seconds.append(time.perf_counter() - begin)
    return 1e9 * min(seconds) / (tokens * len(order) / len(taken))


def operations(data: Data, floats: float, training: bool) -> float:
    """Float operations per token, a multiplication with an addition being two."""
    Y, W = data.n_labels, data.width  # noqa: N806
    if W == 1:  # a feature of a document: v·x, and its update
        return 2 + (2 + EXP if training else 0)
    if not training:
        return 2 * floats + 2 * Y * W  # scores; Viterbi adds and compares
    exponentials = EXP * (W + (Y * W if data.rich else 0))
    forward_backward = 3 * 2 * Y * W  # α, β, and the expected transitions
    return 2 * floats + exponentials + forward_backward + 2 * floats


def bytes_used(data: Data, floats: float, rows: float, training: bool) -> float:
    """Bytes per token that are read and written."""
    if not training:
        return 4 * floats
    if not data.state:  # a weight and its state, read and written
        return 8 * floats
    # A row is read for its scores, and read and written in the update; the fields of its state are
    # read and written once, and some of them twice more.
    return 12 * floats + 4 * data.state * rows


def cutting(path: Path) -> dict[str, float]:
    """What the compiled form of a segmenter reads for a character: see segment_predictor.hpp.

    Its own row, the slot of the bigram that begins with it, and the bigram's row; patterns of three
    and more characters, which are rare, are left out.
    """
    visits: list[tuple[int, int, int]] = []
    numbers: dict[str, int] = {}
    texts = SegmentedCorpus.read(path).texts()
    tokens = 0
    for k in np.random.default_rng(1).permutation(len(texts)):
        text = texts[k] + "\0"
        for here, following in itertools.pairwise(text):
            bigram = numbers.setdefault(here + following, len(numbers))
            slot = -1 - (bigram * 0x9E3779B1 >> 7) % (1 << 20) // (LINE // SLOT)
            visits.append((ord(here), 2 * LINE, tokens))
            visits.append((slot, LINE, tokens))
            visits.append(((1 << 30) + bigram, LINE, tokens))
            tokens += 1
        if tokens > SAMPLE:
            break
    n_scores = CHARACTER_SCORES + BIGRAM_SCORES
    return {
        "bytes": 2 * n_scores + SLOT + 4,  # and the entry of the character
        "operations": 2 * n_scores + 2 * 8,  # shifts and additions, and the eight transitions
        **beyond(visits, training=False),
    }


def main(task: str, path: str) -> None:
    data = load(task, Path(path))
    e = data.encoded
    tokens = len(e.positions) - 1 if data.width > 1 else len(e.predicates)
    sizes = np.diff(data.starts)[e.predicates]
    rows, floats = len(e.predicates) / tokens, float(sizes.sum()) / tokens
    found = {
        "tokens": data.total or tokens,
        "labels": data.n_labels,
        "rows": rows,
        "weights": float(data.starts[-1]),
    }
    for name, training in (("training", True), ("decoding", False)):
        if task == "pku" and not training:
            found[name] = cutting(Path(path))
            continue
        found[name] = {
            "bytes": bytes_used(data, floats, rows, training),
            "operations": operations(data, floats, training),
            **beyond(list(touched(data, training)), training),
        }
    if data.examples is not None:
        found["training"]["ns in cache"] = in_cache(data)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
