"""Terminal mode before the prompt is shown: text typed during the start is kept for the prompt."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

_PIECE = 65536  # bytes


@contextmanager
def keyboard(stream: TextIO) -> Iterator[str]:
    """Turn off echo and line mode within the block, as in a chat: Enter is a key. Yields what was typed before."""
    if sys.platform == "win32" or not stream.isatty():
        yield ""
        return
    import termios

    try:
        number = stream.fileno()
        before, quiet = termios.tcgetattr(number), termios.tcgetattr(number)
    except (OSError, ValueError, termios.error):  # `isatty` was true, but it is no terminal
        yield ""
        return
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    quiet[6][termios.VMIN] = quiet[6][termios.VTIME] = 0
    termios.tcsetattr(number, termios.TCSANOW, quiet)
    try:
        yield _typed(number).replace("\n", "\r")
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(number, termios.TCSANOW, before)


def _typed(number: int) -> str:
    pieces = []
    with suppress(OSError):  # the terminal is gone; the next reader gets the error
        while piece := os.read(number, _PIECE):
            pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")
