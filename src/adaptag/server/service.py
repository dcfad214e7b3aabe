"""The service behind the addresses: models, their batches, and the figures of both."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag.decoding.constraints import constraints_of, elements_of
from adaptag.server.answers import ANSWERS, Options
from adaptag.server.batching import Answered, Batcher
from adaptag.server.metrics import Metrics, heading, sample
from adaptag.version import __version__
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from adaptag.decoding.constraints import Constraints
    from adaptag.server.batching import Job, Outcome
    from adaptag.server.models import Models, ServedModel

__all__ = ["Service", "ServiceLimits"]

QUICK = 20_000  # characters or tokens; what is larger is not answered together with other requests
EXPLAINED = 10_000  # characters of a text, or tokens, that are explained
CONSTRAINED = 10_000  # characters of texts, or tokens, that are tagged under constraints
MAX_CONSTRAINTS = 200  # single ones in a request
NBEST_WORK = 2_000_000  # characters or tokens, times the number of label sequences


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of a service.

    Attributes:
        batch: How many texts or sentences a request may hold, and are answered in one call.
        waiting: How many of them may wait for a model.
        threads: How many threads a model may use; None means all cores.
    """

    batch: int = 1024
    waiting: int = 16_384
    threads: int | None = None


class Service:
    """Answers requests with models.

    Args:
        models: The models.
        limits: Its limits.
        paths: The paths that requests are counted by.
        check_seconds: How often model files are looked at.
    """

    def __init__(
        self,
        models: Models,
        limits: ServiceLimits | None = None,
        *,
        paths: Iterable[str] = (),
        check_seconds: float = 1.0,
    ) -> None:
        self.models = models
        self.limits = limits or ServiceLimits()
        self.metrics = Metrics(paths)
        self._check_seconds = check_seconds
        self._batchers = {
            (served.name, quick): self._batcher(served, quick=bool(quick))
            for served in models
            for quick in (0, 1)
        }

    def _batcher(self, served: ServedModel, *, quick: bool) -> Batcher:
        def answer(inputs: Sequence[Any], options: Options) -> Answered:
            return ANSWERS[options.task](served.model, inputs, options)

        def observe(jobs: list[Job], outcomes: list[Outcome]) -> None:
            n_tokens = sum([item.n_tokens for item in outcomes if isinstance(item, Answered)])
            n_inputs = sum([len(job.inputs) for job in jobs])
            self.metrics.observe_batch(served.name, n_inputs, n_tokens)

        limits = {"max_batch": self.limits.batch, "max_waiting": self.limits.waiting}
        if not quick:  # how long a search takes is not known before
            return Batcher(answer, **limits, inline_seconds=0, observe=observe)
        return Batcher(answer, **limits, observe=observe)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """Watch the files of the models while the service runs; end its threads then."""
        watching = asyncio.create_task(self.models.watch(self._check_seconds))
        try:
            yield
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            for batcher in self._batchers.values():
                batcher.close()

    async def answer(
        self,
        served: ServedModel,
        task: str,
        inputs: Sequence[Any],
        *,
        is_text: bool,
        probabilities: bool = False,
        nbest: int = 0,
        constraints: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Answer texts or sentences, together with those of other requests."""
        if len(inputs) > self.limits.batch:
            raise RequestError(
                f"{len(inputs):,} texts or sentences; allowed: {self.limits.batch:,}", 413
            )
        size = sum(map(len, inputs))
        if task == "explain" and size > EXPLAINED:
            raise RequestError(f"{size:,} to explain; allowed: {EXPLAINED:,}", 413)
        if nbest * size > NBEST_WORK:
            raise RequestError(
                f"'nbest' is {nbest} for a size of {size:,}; allowed: {NBEST_WORK // size}", 413
            )
        declared = None if constraints is None else _declared(constraints, size)
        options = Options(task, is_text, probabilities, nbest, self.limits.threads, declared)
        quick = size <= QUICK and not nbest and task != "explain" and declared is None
        answered = await self._batchers[served.name, quick].submit(inputs, size, options)
        return answered.answers

    def health(self) -> dict[str, Any]:
        """Whether all is well, and what is served; ``UP`` is Label Studio's word."""
        return {
            "status": "UP",
            "version": __version__,
            "models": [served.to_dict() for served in self.models],
        }

    def metrics_text(self) -> str:
        """All figures, for Prometheus."""
        lines = list(self.metrics.lines())
        lines += heading("adaptag_waiting", "gauge", "Texts and sentences that wait, by model.")
        for served in self.models:
            waiting = sum(self._batchers[served.name, quick].n_waiting for quick in (0, 1))
            lines.append(sample("adaptag_waiting", {"model": served.name}, waiting))
        name = "adaptag_model_load_seconds"
        lines += heading(name, "gauge", "How long it took to load a model.")
        lines += [sample(name, {"model": each.name}, each.seconds) for each in self.models]
        name = "adaptag_model_loads_total"
        lines += heading(name, "counter", "How often a model was loaded.")
        lines += [sample(name, {"model": each.name}, each.loads) for each in self.models]
        name = "adaptag_model_error"
        lines += heading(name, "gauge", "1 if the present file of a model could not be loaded.")
        lines += [
            sample(name, {"model": each.name}, int(each.error is not None)) for each in self.models
        ]
        return "\n".join(lines) + "\n"


def _declared(given: Mapping[str, Any], size: int) -> Constraints | None:
    """The constraints of a request; raise where they would take too long."""
    declared = constraints_of(given)
    if declared is None:
        return None
    if size > CONSTRAINED:
        raise RequestError(f"{size:,} to tag under constraints; allowed: {CONSTRAINED:,}", 413)
    n = len(elements_of(declared))
    if n > MAX_CONSTRAINTS:
        raise RequestError(f"{n:,} constraints; allowed: {MAX_CONSTRAINTS:,}", 413)
    return declared
