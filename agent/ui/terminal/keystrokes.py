"""Tracks when the user types, so that a question takes no key that was meant for something else."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

PAUSE = 0.7
"""Seconds without a key after which a user is taken to have stopped typing."""


class Keystrokes:
    """`clock` returns seconds; `sleep` waits for a number of seconds."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._last = float("-inf")

    def struck(self) -> None:
        """Record a key press."""
        self._last = self._clock()

    async def pause(self) -> None:
        """Wait until the user has stopped typing; return at once if no key was pressed recently."""
        while (rest := self._last + PAUSE - self._clock()) > 0:
            await self._sleep(rest)
