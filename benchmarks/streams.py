"""Does memory stop growing on a stream of ten million tokens? And what does a pass of it cost?

usage: python streams.py [--tokens N] [--max-features N] [--hash-bits N]

The stream is generated: words by Zipf's law from a vocabulary without end, so that new features
come in all the time; their labels follow from the words, with noise. Writes results/streams.md.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import report
from measure import HERE
from report import Table, markdown_table

import adaptag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adaptag.streams.trainer import Progress

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]
LENGTH = 20
EVERY = 1_000_000


def sentences(n_tokens: int, seed: int = 1) -> Iterator[tuple[list[str], list[str]]]:
    """Sentences of 20 tokens; the label of a word is told by its number, one in 20 is wrong."""
    rng = np.random.default_rng(seed)
    block = 50_000
    for first in range(0, n_tokens, block):
        n = min(block, n_tokens - first)
        words = rng.zipf(1.2, n)
        codes = np.where(rng.random(n) < 0.05, rng.integers(0, 5, n), words % 5).tolist()
        names = [f"w{word}" for word in words.tolist()]
        for k in range(0, n, LENGTH):
            labels = [LABELS[code] for code in codes[k : k + LENGTH]]
            yield names[k : k + LENGTH], labels


def resident_mb() -> float:
    """Memory of the process now, in 10⁶ bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def learned(name: str, limit: dict[str, int], n_tokens: int) -> list[list[str]]:
    """Learn a stream; the figures of every million tokens, and of the end."""
    rows: list[list[str]] = []
    begin = time.perf_counter()

    def note(progress: Progress) -> None:
        if progress.tokens < min(EVERY * (1 + len(rows)), n_tokens):
            return
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        rows.append(
            [
                f"{progress.tokens:,}",
                f"{progress.features:,}",
                f"{resident_mb():.1f}",
                f"{peak:.1f}",
                f"{progress.score.score:.2f}",
                f"{progress.recent.score:.2f}",
                f"{time.perf_counter() - begin:.1f}",
            ]
        )
        print(name, rows[-1], flush=True)

    trainer = adaptag.StreamTrainer("general", **limit)
    trainer.run(sentences(n_tokens), part=1000, on_progress=note)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--max-features", type=int, default=500_000)
    parser.add_argument("--hash-bits", type=int, default=18)
    options = parser.parse_args()
    kinds = {
        f"at most {options.max_features:,} features": {"max_features": options.max_features},
        f"hashes of {options.hash_bits} bits": {"hash_bits": options.hash_bits},
    }
    head = ["Tokens", "Features", "Memory, MB", "Peak, MB", "Score so far", "Recent score", "s"]
    parts = ["# A stream of generated tokens", f"Machine: {report.described(report.machine())}."]
    parts.append(
        f"Command: `python benchmarks/streams.py --tokens {options.tokens} --max-features "
        f"{options.max_features} --hash-bits {options.hash_bits}`. Template `general`, ADF, one "
        "pass; each sentence is tagged before it is learned. Memory is that of the process, the "
        "peak the largest so far."
    )
    tables = []
    for name, limit in kinds.items():
        rows = learned(name, limit, options.tokens)
        tables.append(Table(name[0].upper() + name[1:], head, rows))
    for table in tables:
        parts += [f"## {table.title}", markdown_table(table)]
    path = HERE / "results" / "streams.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    report.show(tables)
    print(f"written: {path.name}")


if __name__ == "__main__":
    main()
