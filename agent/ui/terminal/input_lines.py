"""The lines that a person types on: how they look, what stands ready on them, what was typed before."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.layout import BufferControl, Dimension, Window


def input_line(buffer: Buffer, mark: str, most: int | None = None) -> Window:
    return Window(
        BufferControl(buffer, include_default_input_processors=True),
        get_line_prefix=lambda line, wrap: [("class:prompt", mark if line == wrap == 0 else "  ")],
        wrap_lines=True,
        height=Dimension(max=most),
        dont_extend_height=True,
    )


def prefill(buffer: Buffer, text: str) -> None:
    """`text`, selected: typing replaces it, an arrow key goes on from it."""
    buffer.set_document(Document(text, 0))
    if text:
        buffer.start_selection()
        assert buffer.selection_state is not None
        buffer.selection_state.enter_shift_mode()
        buffer.cursor_position = len(text)


def history_in(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return FileHistory(path)
