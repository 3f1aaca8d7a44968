"""A program in a terminal of its own, seen as a person sees it: by what stands on the screen, never by the clock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pexpect
import pyte

from agent.ui.terminal.reflow import SIGNS

OUTSIDE = {"TERM_PROGRAM", *SIGNS}
PATIENCE = 20.0
"""Seconds after which what was waited for is taken to be missing."""


class Terminal:
    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str] | None = None,
        *,
        rows: int = 40,
        columns: int = 80,
    ) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "agent", *argv],
            cwd=str(cwd),
            env={**_quiet(cwd), **(environ or {})},
            dimensions=(rows, columns),
            timeout=PATIENCE,
        )
        self._child.delaybeforesend = None
        self.raw = b""

    @property
    def rows(self) -> list[str]:
        """The visible rows, without trailing blanks and empty rows at the end."""
        rows = [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        return self._screen.cursor.y, self._screen.cursor.x

    def type(self, text: str) -> None:
        self._child.send(text)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.text, f"to read {text!r}")

    def wait_above_status(self, *rows: str) -> None:
        """Until these are the last rows of the screen but for the status line."""
        self.wait_until(lambda: self.rows[-len(rows) - 1 : -1] == list(rows), f"{rows!r} to stand at the end")

    def wait_gone(self, text: str) -> None:
        self.wait_until(lambda: text not in self.text, f"{text!r} to be gone")

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"waited in vain for {what}; the screen says:\n{self.text}"
            self._read()

    def resize(self, rows: int, columns: int) -> None:
        self._screen.resize(rows, columns)
        self._child.setwinsize(rows, columns)

    def kill(self, number: int) -> None:
        os.kill(self._child.pid, number)

    def wait_for_exit(self) -> int:
        """The exit code, once the program has left."""
        gone = False

        def left() -> bool:
            nonlocal gone
            gone = gone or not self._read()
            return gone

        self.wait_until(left, "the program to leave")
        self._child.wait()
        assert self._child.exitstatus is not None, f"it died of signal {self._child.signalstatus}"
        return int(self._child.exitstatus)

    def close(self) -> None:
        self._child.close(force=True)

    def _read(self) -> bool:
        """Take in what has been drawn. False once the program has left."""
        try:
            data = self._child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True


def _quiet(cwd: Path) -> dict[str, str]:
    """An environment without keys, with folders that are the test's own, and without the tester's own terminal."""
    kept = {name: os.environ[name] for name in os.environ if not name.endswith("_API_KEY") and name not in OUTSIDE}
    return {
        **kept,
        "TERM": "xterm-256color",
        "MCP_CHAT_CONFIG_DIR": str(cwd / "config"),
        "MCP_CHAT_DATA_DIR": str(cwd / "data"),
        "PYTHONPATH": os.getcwd(),
    }
