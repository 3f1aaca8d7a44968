"""Who may put a question: one at a time, and not while the person is typing something else."""

from __future__ import annotations

import anyio

from agent.ui.terminal.keystrokes import Keystrokes


class Floor:
    def __init__(self, keystrokes: Keystrokes) -> None:
        self._keystrokes, self._taken = keystrokes, anyio.Lock()

    async def get(self) -> None:
        """In the order in which it was asked for; at once where nobody has it and nobody types."""
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
        """Whoever waits for it next may have it."""
        self._taken.release()
