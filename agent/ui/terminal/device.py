"""The terminal itself, as prompt-toolkit's output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output


def terminal_output(stream: TextIO) -> Output:
    """The screen behind `stream`."""
    if sys.platform == "win32":
        return create_output(stream)
    output = _Terminal.from_pty(stream, term=os.environ.get("TERM"))
    # It is never asked where its cursor is: we do not need to know, and a late reply would end up as typed text.
    output.enable_cpr = False
    return output


class _Terminal(Vt100_Output):
    def flush(self) -> None:
        """A terminal that has gone away takes nothing any more; that its input has ended tells the application."""
        try:
            super().flush()
        except OSError:
            self._buffer.clear()


def use_color(wanted: Literal["auto", "always", "never"], environ: Mapping[str, str]) -> bool:
    """Whether to colour what is drawn; `NO_COLOR` counts unless the person said otherwise for this run."""
    return wanted == "always" or (wanted == "auto" and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")
