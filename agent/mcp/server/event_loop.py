"""Calls from other threads into the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio.from_thread
import anyio.lowlevel


class EventLoop:
    """The event loop in which it was made."""

    def __init__(self) -> None:
        self._thread, self._token = threading.get_ident(), anyio.lowlevel.current_token()

    def run(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function in the loop, from any thread, and wait until it returns."""
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            anyio.from_thread.run_sync(function, *arguments, token=self._token)
