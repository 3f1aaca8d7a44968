"""A lock for asking questions: one at a time, and only while the user is not typing something else."""

from __future__ import annotations

import anyio

from agent.ui.terminal.keystrokes import Keystrokes


class Floor:
    def __init__(self, keystrokes: Keystrokes) -> None:
        self._keystrokes, self._taken = keystrokes, anyio.Lock()

    async def get(self) -> None:
        """Acquire the lock, in the order of requests, then wait until the user has stopped typing."""
        try:
            self._taken.acquire_nowait()
        except anyio.WouldBlock:
            await self._taken.acquire()
        try:
            await self._keystrokes.pause()
        except BaseException:
            self._taken.release()
            raise

    def leave(self) -> None:
        """Release the lock."""
        self._taken.release()
