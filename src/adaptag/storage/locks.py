"""Locks of files, which end with the process that holds them."""

from __future__ import annotations

import sys
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["lock"]


def lock(file: IO[bytes] | IO[str] | int, *, wait: bool = False) -> None:
    """Lock a file until it is closed.

    Args:
        file: An open file, or its descriptor. On Windows it must be open for writing.
        wait: Whether to wait for another process that has locked it.

    Raises:
        OSError: Another process has locked it, or the filesystem has no locks.
    """
    descriptor = file if isinstance(file, int) else file.fileno()
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
