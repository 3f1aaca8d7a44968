"""How long a call may take: it may go on while it makes progress, and while the server waits for us."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

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
        self._has_progressed = False
        self.resume()

    def restart(self) -> None:
        """There was progress: the full timeout begins anew."""
        running = self._since is not None
        self.pause()
        self._idle, self._has_progressed = self._timeout, True
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

    @property
    def limit(self) -> str:
        """What ended it, or will, as people say it after "within"."""
        if self._total <= self._idle:
            return f"{LONGEST_CALL:g} s, the longest that any call may take"
        return f"{self._timeout:g} s" + (" of its last progress" if self._has_progressed else "")


class Waits:
    """Everything that one server is waited for."""

    def __init__(self) -> None:
        self._patiences: set[Patience] = set()
        self._questions = 0

    @contextmanager
    def patient(self, patience: Patience) -> Iterator[None]:
        """The block ends when the patience does."""
        if self._questions:
            patience.pause()
        self._patiences.add(patience)
        try:
            with patience.scope:
                yield
        finally:
            self._patiences.discard(patience)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """The block is time in which the server waits for us: that of its own calls stands still."""
        self._questions += 1
        for patience in self._patiences:
            patience.pause()
        try:
            yield
        finally:
            self._questions -= 1
            for patience in () if self._questions else self._patiences:
                patience.resume()
