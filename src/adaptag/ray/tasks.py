"""Tasks on a Ray cluster: functions that run on its nodes, and errors that say why one failed."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptag._native import build
from adaptag.errors import AdaptagError, ParameterError
from adaptag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import Self

__all__ = ["LostError", "Shared", "Task", "Tasks", "check_version", "explained"]

RETRIES = 3  # how often Ray repeats a task whose process or node died
POLL = 0.5  # seconds between two looks at interrupts
IMPORT_FAILED = "failed to import on the worker"  # in the message of Ray


class LostError(AdaptagError):
    """What a task needed was lost with the node that held it."""


@dataclass(frozen=True)
class Shared:
    """A value in the object store, which a process of the cluster reads once.

    Attributes:
        reference: Ray's reference to it.
    """

    reference: Any

    def get(self) -> Any:
        """The value; its arrays cannot be written to."""
        return _read(self.reference)


@functools.lru_cache(maxsize=1)
def _read(reference: Any) -> Any:
    import ray

    return ray.get(reference)


@dataclass(frozen=True, eq=False)
class Task:
    """A task that was submitted.

    Attributes:
        item: What it is for.
        result: Ray's reference to its result.
        left: Ray's reference to what it leaves on its node for other tasks, if it leaves something.
    """

    item: Any
    result: Any
    left: Any = None


class Tasks:
    """The tasks of one piece of work; at the end of the block, those that still run are stopped.

    Nodes use the same variant of the core as this process, since variants differ in the last bits.
    """

    def __init__(self, ray: Any, environment: Mapping[str, str] | None = None) -> None:
        """Prepare.

        Args:
            ray: The module, connected to a cluster.
            environment: Variables of the environment that processes of these tasks start with.
        """
        self._ray = ray
        self._running: dict[Any, Task] = {}
        variables = {"ADAPTAG_CORE": build, **(environment or {})}
        self._remote = ray.remote(
            max_retries=RETRIES, retry_exceptions=False, runtime_env={"env_vars": variables}
        )(_call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reference in self._running:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.cancel(reference, force=True)
        self._running.clear()

    def share(self, value: Any) -> Shared:
        """Put a value into the object store, once for all tasks."""
        return Shared(self._ray.put(value))

    def submit(
        self,
        item: Any,
        function: Callable[..., Any],
        *arguments: Any,
        cpus: int = 1,
        leaves: bool = False,
    ) -> None:
        """Submit a task.

        Args:
            item: What it is for.
            function: A function of a module. With ``leaves`` it returns a pair: the result, and
                what stays in the object store.
            *arguments: Its arguments. In place of a reference it gets the value.
            cpus: The number of CPUs that it uses.
            leaves: Whether something stays in the object store.
        """
        remote = self._remote.options(
            name=function.__name__.strip("_"), num_cpus=cpus, num_returns=2 if leaves else 1
        )
        references = remote.remote(__version__, function, *arguments)
        result, left = references if leaves else (references, None)
        self._running[result] = Task(item, result, left)

    def finished(self, check: Callable[[], None] | None = None) -> Iterator[Task]:
        """Yield tasks as they finish, also those that are submitted meanwhile.

        Args:
            check: A function that is called from time to time, and may raise.
        """
        while self._running:
            done, _ = self._ray.wait(list(self._running), timeout=POLL)
            if check is not None:
                check()
            for reference in done:
                yield self._running.pop(reference)

    def result(self, task: Task) -> Any:
        """The result of a finished task; errors of adaptag are raised as where they arose.

        Raises:
            LostError: An argument of the task was lost.
            AdaptagError: Processes that ran the task died, or the cluster could not run it.
        """
        try:
            return self._ray.get(task.result)
        except self._ray.exceptions.RayError as error:
            known = explained(error, self._ray.exceptions)
            if known is None:
                raise
            raise known from None


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task, on a node."""
    check_version(version)
    return function(*arguments)


def check_version(version: str) -> None:
    """Raise where the driver has another version of adaptag than this node."""
    if version != __version__:
        raise ParameterError(
            f"a node of the cluster has adaptag {__version__}, this process {version}; all need "
            "the same version"
        )


def explained(error: Exception, kinds: Any) -> AdaptagError | None:
    """An error of Ray as one of adaptag; None for what an error in a program raised."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, AdaptagError):
        return cause
    if isinstance(cause, kinds.ObjectLostError):
        return LostError("data of the cluster was lost with the node that held it")
    died = kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.LocalRayletDiedError
    if isinstance(cause, (*died, kinds.OutOfMemoryError)):
        return AdaptagError(
            f"processes of the cluster died {RETRIES + 1} times in the same task, perhaps for lack "
            "of memory; the logs of the nodes say more"
        )
    text = str(cause).strip()
    if isinstance(cause, RuntimeError) and IMPORT_FAILED in text:
        return AdaptagError(
            f"a node of the cluster cannot import adaptag: {text.splitlines()[-1]}; all nodes need "
            f"adaptag {__version__} with its core {build} (ADAPTAG_CORE chooses another one)"
        )
    if isinstance(cause, kinds.RayError):
        return AdaptagError(
            f"the cluster cannot run a task: {(text or repr(cause)).splitlines()[0]}"
        )
    return None
