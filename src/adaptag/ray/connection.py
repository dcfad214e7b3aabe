"""The connection to a Ray cluster: one that runs, or one that is started on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError
from adaptag.settings import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "OBJECT_STORE",
    "connect",
    "n_cpus",
    "node_cpus",
    "pool_size",
    "quiet_data",
    "require_ray",
]

LOG_LEVEL = "RAY_BACKEND_LOG_LEVEL"
OBJECT_STORE = 512 << 20  # bytes of shared memory of a cluster that is started here, unless given


def require_ray() -> Any:
    """Import Ray; where it is missing, say how to install it."""
    try:
        import ray
        import ray.data  # needs pyarrow
    except ImportError:
        raise ParameterError(
            "a cluster needs Ray; install it: pip install 'adaptag[ray]'"
        ) from None
    return ray


@contextlib.contextmanager
def connect(
    address: str = AUTO, *, cpus: int | None = None, object_store: int = OBJECT_STORE
) -> Iterator[Any]:
    """Connect to a cluster, and disconnect at the end; a connection that exists is used as it is.

    Args:
        address: The address of a cluster, such as ``10.0.0.1:6379`` or ``ray://10.0.0.1:10001``;
            ``local`` starts one on this machine; ``auto`` takes the one of ``RAY_ADDRESS`` or that
            was started on this machine, and starts one if there is none.
        cpus: The number of CPUs of a cluster that is started here; None means all of them.
        object_store: The shared memory of a cluster that is started here, in bytes.

    Yields:
        The module ``ray``.
    """
    ray = require_ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "include_dashboard": False,
        "configure_logging": True,
    }
    try:
        with _quiet_core():
            _connect(ray, address, options, cpus, object_store)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise ParameterError(
            f"no Ray cluster at {address!r}: {str(error).splitlines()[0]}"
        ) from None
    with _quiet_messages(ray):
        try:
            yield ray
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _quiet_messages(ray: Any) -> Iterator[None]:
    """Keep Ray from writing to standard output of this process that a worker died or was ended.

    ``log_to_driver`` does not turn these messages off, and Ray has only this flag for them.
    """
    module, name = ray._private.worker, "_worker_logs_enabled"
    before = getattr(module, name, None)
    setattr(module, name, False)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def _quiet_core() -> Iterator[None]:
    """Keep Ray's core from writing to standard error of this process, unless the user asks for it.

    It warns at each pool of workers that their arguments lie in shared memory.
    """
    if LOG_LEVEL in os.environ:
        yield
        return
    os.environ[LOG_LEVEL] = "fatal"
    sys.stderr.flush()
    errors, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # it says that it has read its level
    try:
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)
        os.close(nowhere)
        del os.environ[LOG_LEVEL]


def _connect(
    ray: Any, address: str, options: dict[str, Any], cpus: int | None, object_store: int
) -> None:
    """Connect to a cluster, or start one."""
    if address == "local":
        _start(ray, options, cpus, object_store)
    elif address == AUTO:
        try:
            ray.init(address="auto", **_joining(options))
        except ConnectionError:
            _start(ray, options, cpus, object_store)
    else:
        ray.init(address=address, **_joining(options))


def _start(ray: Any, options: dict[str, Any], cpus: int | None, object_store: int) -> None:
    """Start a cluster of one node on this machine."""
    ray.init(address="local", num_cpus=cpus, object_store_memory=object_store, **options)


def _joining(options: dict[str, Any]) -> dict[str, Any]:
    """The options for a cluster that runs already, which has its own dashboard, or none."""
    return {name: value for name, value in options.items() if name != "include_dashboard"}


def n_cpus(ray: Any) -> int:
    """The CPUs of all nodes of the cluster."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def node_cpus(ray: Any) -> list[int]:
    """The CPUs of each node of the cluster."""
    return [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


def pool_size(ray: Any, threads: int) -> int:
    """How many workers of this many threads the nodes of the cluster have CPUs for."""
    cpus = node_cpus(ray)
    size = sum(n // threads for n in cpus)
    if size == 0:
        raise ParameterError(
            f"threads is {threads}; the largest node of the cluster has {max(cpus, default=0)} CPUs"
        )
    return size


@contextlib.contextmanager
def quiet_data(ray: Any) -> Iterator[None]:
    """Keep datasets of Ray from showing their own progress and plans."""
    context = ray.data.DataContext.get_current()
    logger = logging.getLogger("ray.data")
    names = ("enable_progress_bars", "print_on_execution_start")
    before = {name: getattr(context, name) for name in names if hasattr(context, name)}
    level = logger.level
    try:
        for name in before:
            setattr(context, name, False)
        logger.setLevel(logging.ERROR)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        logger.setLevel(level)
