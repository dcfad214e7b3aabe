"""Library calls timed inside one Python process; prints one JSON object.

usage: python in_process.py tag MODEL TEXT THREADS REPEATS     tagging speed, latency and loading
       python in_process.py crfsuite MODEL TEXT COPIES REPEATS  the same of python-crfsuite
       python in_process.py encode TEXT REPEATS                reading and encoding
       python in_process.py ready tagger|segmenter MODEL TEXT  from the file to the first result
"""

from __future__ import annotations

import gc
import inspect
import json
import statistics
import sys
import time
from pathlib import Path
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


def tag(path: str, text: str, threads: str, repeats: str) -> dict[str, float]:
    from adaptag import Model

    sentences = list(read(text))
    model = Model.load(path)
    one = next(s for s in sentences if len(s) == LATENCY_TOKENS)
    given = (
        {"threads": int(threads)}
        if "threads" in inspect.signature(model.tag_all).parameters
        else {}
    )
    return {
        "load_ms": 1e3 * min(seconds(lambda: Model.load(path), LOADS)),
        "columns_s": min(seconds(lambda: model.tag_all(sentences, **given), int(repeats))),
        "latency_us": latency_us(lambda: model.tag(one)),
    }


def crfsuite(path: str, text: str, copies: str, repeats: str) -> dict[str, float]:
    from pycrfsuite import ItemSequence, Tagger

    def tag_all(sequences: Iterable[object]) -> None:
        for sequence in sequences:
            tagger.tag(sequence)

    def least(action: Callable[[], object]) -> float:
        return min(seconds(action, int(repeats)))

    sentences: list[Sentence] = list(read(text))
    tagger = Tagger()
    tagger.open(path)
    one = next(s for s in sentences if len(s) == LATENCY_TOKENS)
    ready = attributes(one)
    everything = sentences * int(copies)
    lists = [attributes(sentence) for sentence in sentences] * int(copies)
    items = [ItemSequence(attributes(sentence)) for sentence in sentences] * int(copies)
    return {
        "load_ms": 1e3 * min(seconds(lambda: Tagger().open(path), LOADS)),
        "columns_s": least(lambda: tag_all(map(attributes, everything))),
        "attributes_s": least(lambda: tag_all(lists)),
        "items_s": least(lambda: tag_all(items)),
        "latency_us": latency_us(lambda: tagger.tag(attributes(one))),
        "latency_attributes_us": latency_us(lambda: tagger.tag(ready)),
    }


def encode(text: str, repeats: str) -> dict[str, float]:
    import adaptag

    return {"s": min(seconds(lambda: adaptag.encode(text, template="chunking"), int(repeats)))}


def ready(kind: str, path: str, text: str) -> dict[str, float]:
    """Milliseconds of the first use in a process: everything is imported, nothing is loaded."""
    from adaptag import Model, Segmenter

    line = Path(text).read_text(encoding="utf-8").split("\n")[0]
    sentence = next(iter(read(text))) if kind == "tagger" else []
    start = time.perf_counter()
    if kind == "tagger":
        Model.load(path).tag(sentence)
    else:
        Segmenter.load(path).cut(line)
    return {"ms": 1e3 * (time.perf_counter() - start)}


if __name__ == "__main__":
    gc.disable()  # as timeit does
    command, *arguments = sys.argv[1:]
    measure = {"tag": tag, "crfsuite": crfsuite, "encode": encode, "ready": ready}[command]
    print(json.dumps(measure(*arguments)))
