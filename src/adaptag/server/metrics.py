"""Figures of a running server, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Histogram", "Metrics"]

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Counts of values up to some bounds, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterable[str]:
        """The lines of the histogram."""
        count = 0
        for bound, number in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            count += number
            yield sample(f"{name}_bucket", {**labels, "le": str(bound)}, count)
        yield sample(f"{name}_sum", labels, self.total)
        yield sample(f"{name}_count", labels, count)


class Metrics:
    """What a server counts; used from the thread of its event loop only."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.batches: dict[str, Histogram] = {}
        self.inputs: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()

    def observe_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request; those of unknown paths are counted together."""
        if path not in self.paths:
            path = "other"
        self.requests[path, status] += 1
        if path not in self.seconds:
            self.seconds[path] = Histogram(SECONDS)
        self.seconds[path].add(seconds)

    def observe_batch(self, model: str, n_inputs: int, n_tokens: int) -> None:
        """Count a batch."""
        if model not in self.batches:
            self.batches[model] = Histogram(SIZES)
        self.batches[model].add(n_inputs)
        self.inputs[model] += n_inputs
        self.tokens[model] += n_tokens

    def lines(self) -> Iterable[str]:
        """All that was counted."""
        yield from heading("adaptag_requests_total", "counter", "Requests, by path and status.")
        for (path, status), n in sorted(self.requests.items()):
            yield sample("adaptag_requests_total", {"path": path, "status": str(status)}, n)
        yield from heading("adaptag_errors_total", "counter", "Answers from 400 on, by status.")
        errors: Counter[int] = Counter()
        for (_, status), n in self.requests.items():
            if status >= 400:
                errors[status] += n
        for status, n in sorted(errors.items()):
            yield sample("adaptag_errors_total", {"status": str(status)}, n)
        name = "adaptag_request_seconds"
        yield from heading(name, "histogram", "Time from the head of a request to its answer.")
        for path, histogram in sorted(self.seconds.items()):
            yield from histogram.lines(name, {"path": path})
        name = "adaptag_batch_size"
        yield from heading(name, "histogram", "Texts and sentences that were answered together.")
        for model, histogram in sorted(self.batches.items()):
            yield from histogram.lines(name, {"model": model})
        for name, meaning, counter in (
            ("adaptag_inputs_total", "Texts and sentences, by model.", self.inputs),
            ("adaptag_tokens_total", "Tokens, words or documents, by model.", self.tokens),
        ):
            yield from heading(name, "counter", meaning)
            for model, n in sorted(counter.items()):
                yield sample(name, {"model": model}, n)


def heading(name: str, kind: str, meaning: str) -> Iterable[str]:
    """The lines before the samples of a metric."""
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """The line of one value."""
    cells = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = f"{value:.9g}" if isinstance(value, float) else str(value)
    return f"{name}{{{cells}}} {number}" if cells else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
