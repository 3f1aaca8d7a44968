"""Where the cursor is after a window became narrower, in terminals that break long rows."""

from __future__ import annotations

import pytest
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.layout.screen import Screen as Drawn

from agent.ui.terminal.reflow import cursor_after_reflow, reflows


def drawn(*rows: str) -> Drawn:
    screen = Drawn()
    for number, row in enumerate(rows):
        column = 0
        for letter in row:
            screen.data_buffer[number][column] = char = Char(letter)
            column += char.width
    return screen


@pytest.mark.parametrize(
    ("columns", "row", "column"),
    [(100, 3, 12), (50, 3, 12), (20, 5, 12), (10, 8, 2)],
)
def test_rows_above_that_were_broken_are_counted(columns: int, row: int, column: int) -> None:
    screen = drawn("x" * 50, "short     " + " " * 60, "", "› a long draft, typed")
    assert cursor_after_reflow(screen, Point(12, 3), columns) == Point(column, row)


def test_wide_letters_take_two_cells() -> None:
    assert cursor_after_reflow(drawn("漢" * 10, "x"), Point(0, 1), 15) == Point(0, 2)
    assert cursor_after_reflow(drawn("漢" * 10, "x"), Point(0, 1), 20) == Point(0, 1)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x"}, True),
        ({"VTE_VERSION": "7600"}, True),
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
    ],
)
def test_terminals_that_break_rows_are_known_by_their_environment(environ: dict[str, str], expected: bool) -> None:
    assert reflows(environ) is expected
