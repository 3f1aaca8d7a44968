"""The lines that a person types on: how they look, what stands ready on them, what was typed before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.layout import BufferControl, Dimension, Window

ENTRY_ROWS = 8
"""Rows of a long text that is an answer; the rest of it is scrolled to."""


def entry_rows(rows: int) -> Dimension:
    """What an answer may have of a window of `rows`: a low one leaves most of them to the question."""
    return Dimension(max=min(ENTRY_ROWS, max(1, rows // 4)))


def input_line(buffer: Buffer, mark: str, height: Callable[[], Dimension] | None = None) -> Window:
    return Window(
        BufferControl(buffer, include_default_input_processors=True),
        get_line_prefix=lambda line, wrap: [("class:prompt", mark if line == wrap == 0 else "  ")],
        wrap_lines=True,
        height=height,
        dont_extend_height=True,
    )


def prefill(buffer: Buffer, text: str, *, selected: bool) -> None:
    """`text` with the cursor at its end. If `selected`, typing replaces it, and an arrow key goes on from it."""
    buffer.set_document(Document(text, len(text)))
    if selected and text:
        buffer.cursor_position = 0
        buffer.start_selection()
        assert buffer.selection_state is not None
        buffer.selection_state.enter_shift_mode()
        buffer.cursor_position = len(text)


def keep_typed(input: Input, text: str) -> bool:
    """Have `text` typed into the next application that reads `input`, after what is left from the last one.

    Returns whether anything will be typed.
    """
    presses = get_typeahead(input)
    Vt100Parser(presses.append).feed_and_flush(text)
    store_typeahead(input, presses)
    return bool(presses)


def history_in(path: Path | None) -> History:
    """What was typed before; only within this chat where it cannot be kept."""
    return InMemoryHistory() if path is None or unkept(path) else _Kept(path)


def unkept(path: Path) -> str:
    """Why nothing can be kept in the file at `path`, which is made for the owner's eyes only; empty if it can."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("ab"):
            return ""
    except OSError as error:
        return error.strerror or type(error).__name__


class _Kept(FileHistory):
    """A file that is lost in mid-chat costs what would have been read or written, and nothing else."""

    def load_history_strings(self) -> Iterable[str]:
        with suppress(OSError):
            yield from super().load_history_strings()

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
