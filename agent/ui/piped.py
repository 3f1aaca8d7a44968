"""The prompt of a single answer, from the command line and stdin."""

from __future__ import annotations

import io
import select
import sys
from typing import TextIO

from agent.ui.environment import Environment

PATIENCE = 3.0
"""Seconds to wait for the first data on a stdin that may have no writer. Once it has begun, it is read to its end."""


class NoPromptError(Exception):
    """There is no prompt; the text says so."""


def read_prompt(given: str | None, environment: Environment) -> str | None:
    """The whole prompt; None if a chat is to be started.

    Raises:
        NoPromptError: the prompt is empty.
    """
    if given is None:
        if environment.stdin.isatty():
            return None
        prompt = _read(environment.stdin)
    elif given == "-":
        prompt = _read(environment.stdin)
    else:
        prompt = "\n\n".join(filter(str.strip, [_sound(given), _beside(environment)]))
    if not prompt.strip():
        raise NoPromptError("The prompt is empty. Give one with -p TEXT, or pipe it in.")
    return prompt


def _beside(environment: Environment) -> str:
    """The text that stdin adds to a prompt on the command line."""
    if environment.stdin.isatty():
        return ""
    if not _begins(environment.stdin, PATIENCE):
        environment.say(f"Nothing came in on stdin for {PATIENCE:g} s, so it is left alone; -p - would wait for it.")
        return ""
    return _read(environment.stdin)


def _begins(stream: TextIO, patience: float) -> bool:
    """Whether data or the end of the stream arrives in time. A stream that `select` does not support never blocks."""
    if sys.platform == "win32":
        return True
    try:
        ready, _, _ = select.select([stream.fileno()], [], [], patience)
    except (OSError, ValueError, io.UnsupportedOperation):
        return True
    return bool(ready)


def _read(stream: TextIO) -> str:
    data = stream.buffer.read() if isinstance(stream, io.TextIOWrapper) else stream.read().encode()
    return data.decode("utf-8-sig", "replace")


def _sound(text: str) -> str:
    """Replace the lone surrogates of an argument that was not UTF-8: no provider accepts them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
