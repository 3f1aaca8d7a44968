"""Text measured in terminal cells: a Chinese character takes two, a combining accent none."""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells

__all__ = ["cell_len", "cut", "first_rows", "last_rows", "wrap"]

_WORD = re.compile(r"\s*\S+|\s+$")


def cut(text: str, width: int) -> str:
    """`text`, cut with an ellipsis if it is wider than that."""
    if cell_len(text) <= width:
        return text
    return (chop_cells(text, max(1, width - 1)) or [""])[0] + "…"


def wrap(line: str, width: int) -> list[str]:
    """One line as rows of at most `width` cells, broken between words where there are any."""
    rows, row = [], ""
    for word in _WORD.findall(line):
        if row and cell_len(row + word) > width:
            rows.append(row)
            word = word.lstrip()
        else:
            word = row + word
        *full, row = chop_cells(word, width) or [word]
        rows += full
    return [*rows, row]


def first_rows(text: str, width: int, rows: int) -> list[str]:
    """The first `rows` rows of `text`, wrapped at `width`, and a row with an ellipsis if there are more."""
    width = max(2, width)
    head = text[: (rows + 1) * width].expandtabs(4)
    wrapped = [row for line in head.split("\n") for row in wrap(line, width)]
    if len(text) > (rows + 1) * width:  # combining characters take no cell, so the rest may have fitted
        wrapped += ["…"] * (rows + 1 - len(wrapped))
    return wrapped[: rows + 1]


def last_rows(text: str, width: int, rows: int) -> list[str]:
    """The last `rows` rows of `text`, wrapped at `width`; only as much of it is wrapped as can be shown."""
    width = max(2, width)
    wrapped: list[str] = []
    for line in reversed(text[-rows * width :].expandtabs(4).split("\n")):
        wrapped[:0] = wrap(line, width)
        if len(wrapped) >= rows:
            break
    return wrapped[-rows:]
