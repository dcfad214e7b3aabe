"""How much memory this process may still use, and refusing work that needs more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from adaptag.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_memory", "free_memory", "shown_size"]

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
# The names of the limit, of what is used, and of what of it is given back when it is needed.
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
ALWAYS_ALLOWED = 16 << 20  # bytes that are not worth the look


def free_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """The bytes that are left: of the machine, of its cgroups and of ``ulimit -v``.

    None means that it is not known, as on systems without ``/proc``.
    """
    left = [_machine(proc), _address_space(proc), *_cgroups(proc, cgroups)]
    return min((n for n in left if n is not None), default=None)


def check_memory(needed: int, what: str, advice: str) -> None:
    """Raise where work needs more memory than there is.

    Args:
        needed: The bytes that the work allocates at least.
        what: What needs them.
        advice: How to need less.
    """
    if needed <= ALWAYS_ALLOWED:
        return
    free = free_memory()
    if free is not None and needed > free:
        raise MemoryLimitError(
            f"{what} needs about {shown_size(needed)} of memory, and {shown_size(max(0, free))} "
            f"are free; {advice}"
        )


def shown_size(size: float) -> str:
    """A number of bytes for a message."""
    units = ["PB", "TB", "GB", "MB", "kB"]
    while size >= 1000 and units:
        size, unit = size / 1000, units.pop()
        if size < 1000 or not units:
            return f"{size:.1f} {unit}" if size < 10 else f"{size:,.0f} {unit}"
    return f"{size:.0f} bytes"


def _machine(proc: Path) -> int | None:
    for line in _lines(proc / "meminfo"):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return _number(value.split()[0], 1024)
    return None


def _address_space(proc: Path) -> int | None:
    """What is left of ``ulimit -v``."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        used = _number((proc / "self" / "statm").read_text().split()[0], os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, IndexError):
        return None
    return None if used is None else max(0, limit - used)


def _cgroups(proc: Path, root: Path) -> Iterator[int]:
    """What is left in each cgroup that this process is in, of either version."""
    for line in _lines(proc / "self" / "cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _levels(root, path, VERSION_2)
        elif "memory" in controllers.split(","):
            yield from _levels(root / "memory", path, VERSION_1)


def _levels(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[int]:
    """What is left in a cgroup and in those around it; in a container its own is the root."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for n in range(len(parts), -1, -1):
        left = _left(root.joinpath(*parts[:n]), *names)
        if left is not None:
            yield left


def _left(folder: Path, limit_name: str, used_name: str, reclaimable_name: str) -> int | None:
    limit = _number("".join(_lines(folder / limit_name)))
    used = _number("".join(_lines(folder / used_name)))
    if limit is None or used is None:  # "max": no limit
        return None
    for line in _lines(folder / "memory.stat"):
        name, _, value = line.partition(" ")
        if name == reclaimable_name:
            used -= min(used, _number(value) or 0)
    return max(0, limit - used)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _number(text: str, factor: int = 1) -> int | None:
    return int(text) * factor if text.strip().isdecimal() else None
