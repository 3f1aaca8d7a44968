"""Resizing: some terminals rewrap the rows already drawn when the window becomes narrower."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Screen as Drawn

SIGNS = ("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "WT_SESSION")
_PROGRAMS = ("iTerm.app", "Apple_Terminal", "WezTerm", "ghostty", "vscode")


def reflows(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this terminal is known to rewrap a row that is too long, rather than to cut it."""
    return any(sign in environ for sign in SIGNS) or environ.get("TERM_PROGRAM") in _PROGRAMS


def cursor_after_reflow(drawn: Drawn, cursor: Point, columns: int) -> Point:
    """The cursor position relative to the drawn area after its rows are rewrapped at `columns` cells."""
    above = sum(_rows(_length(drawn, row), columns) for row in range(cursor.y))
    return Point(cursor.x % columns, above + cursor.x // columns)


class ReflowingApplication(Application[None]):
    """An application that accounts for rewrapped rows when it erases, so that none of them remains on the screen."""

    def _on_resize(self) -> None:
        renderer, columns = self.renderer, self.output.get_size().columns
        if (drawn := renderer.last_rendered_screen) and reflows():
            # prompt-toolkit has no public way to be told that the cursor has moved.
            renderer._cursor_pos = cursor_after_reflow(drawn, renderer._cursor_pos, max(1, columns))
        super()._on_resize()


def _length(drawn: Drawn, row: int) -> int:
    """The cells of a row up to its last non-blank character: terminals do not rewrap trailing blanks."""
    letters = [column + char.width for column, char in drawn.data_buffer[row].items() if char.char.strip()]
    return max(letters, default=0)


def _rows(cells: int, columns: int) -> int:
    return max(1, -(-cells // columns))
