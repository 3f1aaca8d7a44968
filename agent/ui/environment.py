"""The process environment of a run (streams, variables, working directory) as one value that a test can replace."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class OutputError(Exception):
    """Stdout cannot be written to; the text says why. A pipe without a reader raises BrokenPipeError instead."""


class FolderError(Exception):
    """There is no working directory; the text says so."""


class Environment(NamedTuple):
    """`cwd` is None for the process's own working directory."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str] = os.environ
    cwd: Path | None = None

    @classmethod
    def real(cls) -> Environment:
        """The streams and variables of this process. A stream may be closed, full, or lack some characters."""
        stdin = sys.stdin or _nothing("r")
        sys.stderr = sys.stderr or _nothing("w")
        sys.stdout = _Output.over(sys.stdout) if sys.stdout else cast(TextIO, _NoOutput())
        return cls(stdin, sys.stdout, sys.stderr)

    @property
    def folder(self) -> Path:
        """The working directory. Raises FolderError."""
        from pathlib import Path

        try:
            return self.cwd or Path.cwd()
        except OSError as error:
            raise FolderError("The working folder is gone or closed to you: change to another one.") from error

    @property
    def can_chat(self) -> bool:
        """Whether a chat is possible: it draws on stdout and reads keys from stdin, so both must be terminals."""
        return self.stdin.isatty() and self.stdout.isatty()

    @property
    def can_ask(self) -> bool:
        """Whether a question can be asked during a single answer: it is drawn on stderr, stdout is for the answer."""
        return self.stdin.isatty() and self.stderr.isatty()

    def say(self, line: str) -> None:
        """Write a message for the user to stderr, never part of the answer; a failing stderr is ignored."""
        with suppress(OSError):
            self.stderr.write(f"{line}\n")
            self.stderr.flush()


class _Output(io.TextIOWrapper):
    """Stdout that raises OutputError when a write fails, and writes `?` for characters that its encoding lacks."""

    @classmethod
    def over(cls, stream: TextIO) -> TextIO:
        if not isinstance(stream, io.TextIOWrapper):
            return stream
        encoding, by_line = stream.encoding, stream.line_buffering
        return cls(stream.detach(), encoding, "replace", line_buffering=by_line)

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise _lost(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise _lost(error) from error


class _NoOutput(io.TextIOBase):
    """Stands for a stdout that is closed."""

    def write(self, text: str, /) -> int:
        raise OutputError("The standard output is closed.")


def _nothing(mode: str) -> Any:
    return open(os.devnull, mode, encoding="utf-8")


def _lost(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    return OutputError(f"The standard output cannot be written to: {error.strerror}.")
