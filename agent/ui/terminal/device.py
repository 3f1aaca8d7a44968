"""The output device of prompt-toolkit."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output


def terminal_output(stream: TextIO) -> Output:
    """A prompt-toolkit output that writes to `stream`."""
    if sys.platform == "win32":
        return create_output(stream)
    output = _Terminal.from_pty(stream, term=os.environ.get("TERM"))
    # The terminal is never asked for its cursor position: it is not needed, and a late reply would be read as input.
    output.enable_cpr = False
    return output


class _Terminal(Vt100_Output):
    def flush(self) -> None:
        """Ignore write errors of a terminal that is gone; the application learns of it from the end of its input."""
        try:
            super().flush()
        except OSError:
            self._buffer.clear()


def use_color(wanted: Literal["auto", "always", "never"], environ: Mapping[str, str]) -> bool:
    """Whether to use colour; `NO_COLOR` is respected unless the options of this run say otherwise."""
    return wanted == "always" or (wanted == "auto" and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")
