"""The input lines of the screen: their appearance, prefilled text and history."""

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
"""Rows shown of a long answer that is being typed; the rest is scrolled."""


def entry_rows(rows: int) -> Dimension:
    """The rows for an answer in a window of `rows`; in a low window the question gets most of them."""
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
    """Set `text` with the cursor at its end. If `selected`, typing replaces it, and an arrow key keeps it."""
    buffer.set_document(Document(text, len(text)))
    if selected and text:
        buffer.cursor_position = 0
        buffer.start_selection()
        assert buffer.selection_state is not None
        buffer.selection_state.enter_shift_mode()
        buffer.cursor_position = len(text)


def keep_typed(input: Input, text: str) -> bool:
    """Feed `text` to the next application that reads `input`, after any text left over from the last one.

    Returns whether there is any such text.
    """
    presses = get_typeahead(input)
    Vt100Parser(presses.append).feed_and_flush(text)
    store_typeahead(input, presses)
    return bool(presses)


def history_in(path: Path | None) -> History:
    """The history in the file at `path`; in memory only if the file cannot be used."""
    return InMemoryHistory() if path is None or unkept(path) else _Kept(path)


def unkept(path: Path) -> str:
    """Why history cannot be saved at `path`, a file created with access for its owner only; empty if it can."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("ab"):
            return ""
    except OSError as error:
        return error.strerror or type(error).__name__


class _Kept(FileHistory):
    """File history for which an error in reading or writing loses only the entries concerned."""

    def load_history_strings(self) -> Iterable[str]:
        with suppress(OSError):
            yield from super().load_history_strings()

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)
