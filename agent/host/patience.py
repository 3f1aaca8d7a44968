"""How long a call may take: it may go on while it makes progress, and while the server waits for us."""

from __future__ import annotations

import math

import anyio

LONGEST_CALL = 3600.0
"""Seconds that no call exceeds, whatever progress it reports; the time of our own answers is not counted."""


class Patience:
    """A cancel scope whose deadline moves: `scope` is entered round the call."""

    def __init__(self, timeout: float) -> None:
        self.scope = anyio.CancelScope()
        self._timeout = self._idle = timeout
        self._total = LONGEST_CALL
        self._since: float | None = None
        self.resume()

    def restart(self) -> None:
        """There was progress: the full timeout begins anew."""
        running = self._since is not None
        self.pause()
        self._idle = self._timeout
        if running:
            self.resume()

    def pause(self) -> None:
        """The server waits for us: time stands still."""
        if self._since is not None:
            passed = anyio.current_time() - self._since
            self._idle, self._total = self._idle - passed, self._total - passed
            self._since, self.scope.deadline = None, math.inf

    def resume(self) -> None:
        if self._since is None:
            self._since = anyio.current_time()
            self.scope.deadline = self._since + min(self._idle, self._total)
