"""The timeout of a call: extended by progress, and stopped while the server waits for a response of ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

LONGEST_CALL = 3600.0
"""Maximum duration of a call in seconds, whatever its progress; time spent on our own responses is not counted."""


class Patience:
    """The timeout of one call: a cancel scope with a moving deadline. Enter `scope` around the call."""

    def __init__(self, timeout: float) -> None:
        self.scope = anyio.CancelScope()
        self._timeout = self._idle = timeout
        self._total = LONGEST_CALL
        self._since: float | None = None
        self._has_progressed = False
        self.resume()

    def restart(self) -> None:
        """On progress: start the full timeout again."""
        running = self._since is not None
        self.pause()
        self._idle, self._has_progressed = self._timeout, True
        if running:
            self.resume()

    def pause(self) -> None:
        """Stop the clock while the server waits for a response of ours."""
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
        """The limit that applied or will apply, as text to follow "within"."""
        if self._total <= self._idle:
            return f"{LONGEST_CALL:g} s, the longest that any call may take"
        return f"{self._timeout:g} s" + (" of its last progress" if self._has_progressed else "")


class Waits:
    """All calls in progress on one server."""

    def __init__(self) -> None:
        self._patiences: set[Patience] = set()
        self._questions = 0

    @contextmanager
    def patient(self, patience: Patience) -> Iterator[None]:
        """Run the block within the timeout of `patience`."""
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
        """While the block runs, the server waits for a response of ours: the timeouts of its calls are paused."""
        self._questions += 1
        for patience in self._patiences:
            patience.pause()
        try:
            yield
        finally:
            self._questions -= 1
            for patience in () if self._questions else self._patiences:
                patience.resume()
