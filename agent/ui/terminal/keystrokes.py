"""When the person types, so that no question takes a key that was meant for something else."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

PAUSE = 0.7
"""Seconds without a key after which a person is taken to have stopped typing."""


class Keystrokes:
    """`clock` tells seconds, `sleep` waits for some."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._last = float("-inf")

    def struck(self) -> None:
        """A key has come."""
        self._last = self._clock()

    async def pause(self) -> None:
        """Wait until the person has stopped typing; at once if they have."""
        while (rest := self._last + PAUSE - self._clock()) > 0:
            await self._sleep(rest)
