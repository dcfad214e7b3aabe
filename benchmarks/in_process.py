"""Loading, tagging speed and latency inside one Python process; prints one JSON object.

usage: python in_process.py adaptag|crfsuite MODEL TEXT COPIES REPEATS
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING

from chunking import Sentence, attributes, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LATENCY_TOKENS, LATENCY_CALLS = 24, 2000
LOADS = 5


def seconds(action: Callable[[], object], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times


def latency_us(action: Callable[[], object]) -> float:
    return 1e6 * statistics.median(seconds(action, LATENCY_CALLS))


def adaptag(path: str, sentences: list[Sentence], copies: int, repeats: int) -> dict[str, float]:
    from adaptag import Model

    model = Model.load(path)
    one = next(s for s in sentences if len(s) == LATENCY_TOKENS)
    everything = sentences * copies
    return {
        "load_ms": 1e3 * min(seconds(lambda: Model.load(path), LOADS)),
        "columns_s": min(seconds(lambda: model.tag_all(everything), repeats)),
        "latency_us": latency_us(lambda: model.tag(one)),
    }


def crfsuite(path: str, sentences: list[Sentence], copies: int, repeats: int) -> dict[str, float]:
    from pycrfsuite import ItemSequence, Tagger

    def tag_all(sequences: Iterable[object]) -> None:
        for sequence in sequences:
            tagger.tag(sequence)

    tagger = Tagger()
    tagger.open(path)
    one = next(s for s in sentences if len(s) == LATENCY_TOKENS)
    ready = attributes(one)
    everything = sentences * copies
    lists = [attributes(sentence) for sentence in sentences] * copies
    items = [ItemSequence(attributes(sentence)) for sentence in sentences] * copies
    return {
        "load_ms": 1e3 * min(seconds(lambda: Tagger().open(path), LOADS)),
        "columns_s": min(seconds(lambda: tag_all(map(attributes, everything)), repeats)),
        "attributes_s": min(seconds(lambda: tag_all(lists), repeats)),
        "items_s": min(seconds(lambda: tag_all(items), repeats)),
        "latency_us": latency_us(lambda: tagger.tag(attributes(one))),
        "latency_attributes_us": latency_us(lambda: tagger.tag(ready)),
    }


if __name__ == "__main__":
    tool, path, text, copies, repeats = sys.argv[1:]
    gc.disable()  # as timeit does
    measure = {"adaptag": adaptag, "crfsuite": crfsuite}[tool]
    print(json.dumps(measure(path, list(read(text)), int(copies), int(repeats))))
