"""Text measured in the cells of a terminal, where a Chinese character takes two and an accent none."""
# ruff: noqa: TID253 - imported only when a terminal is drawn

from __future__ import annotations

from rich.cells import cell_len, chop_cells


def cut(text: str, width: int) -> str:
    """`text`, or as much of it as fits with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return (chop_cells(text, max(1, width - 1)) or [""])[0] + "…"


def last_rows(text: str, width: int, rows: int) -> list[str]:
    """The last `rows` rows of `text`, wrapped at `width`; no more of it is looked at than may be shown."""
    wrapped: list[str] = []
    for line in reversed(text[-rows * max(1, width) :].expandtabs(4).split("\n")):
        wrapped[:0] = chop_cells(line, max(1, width)) if line else [""]
        if len(wrapped) >= rows:
            break
    return wrapped[-rows:]
