"""The world a run lives in, as one value, so that a test can bring its own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Environment(NamedTuple):
    """`cwd` is None for the process's own."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str] = os.environ
    cwd: Path | None = None

    @classmethod
    def real(cls) -> Environment:
        return cls(sys.stdin, sys.stdout, sys.stderr)

    @property
    def folder(self) -> Path:
        from pathlib import Path

        return self.cwd or Path.cwd()

    @property
    def can_chat(self) -> bool:
        """A chat draws on stdout and reads keys from stdin."""
        return self.stdin.isatty() and self.stdout.isatty()

    @property
    def can_ask(self) -> bool:
        """Questions beside a single answer are drawn on stderr, which leaves stdout to the answer."""
        return self.stdin.isatty() and self.stderr.isatty()

    def say(self, line: str) -> None:
        """A line for people, never part of the answer."""
        self.stderr.write(f"{line}\n")
        self.stderr.flush()
