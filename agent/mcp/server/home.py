"""The event loop that something lives in, for those who speak to it from other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio.from_thread
import anyio.lowlevel


class Home:
    """The loop in which it was made."""

    def __init__(self) -> None:
        self._thread, self._token = threading.get_ident(), anyio.lowlevel.current_token()

    def run(self, note: Callable[..., None], *arguments: Any) -> None:
        """Call `note` there, from any thread, and come back when it is done."""
        if threading.get_ident() == self._thread:
            note(*arguments)
        else:
            anyio.from_thread.run_sync(note, *arguments, token=self._token)
