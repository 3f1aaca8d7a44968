"""A lock shared by all processes of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

LOOK_SECONDS = 0.02  # between two attempts to take the lock
LONGEST_SECONDS = 60.0  # maximum wait: longer than any request of the holder may take


@asynccontextmanager
async def exclusive(path: Path, seconds: float = LONGEST_SECONDS) -> AsyncIterator[None]:
    """Hold the lock: one process, and one task in it, at a time. It is released if the process dies.

    Raises:
        TimeoutError: another process held it for all of `seconds`.
        OSError: the lock file cannot be created.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with anyio.fail_after(seconds):
            while not _take(handle):  # noqa: ASYNC110  # no event crosses processes
                await anyio.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(handle)  # which releases the lock


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
