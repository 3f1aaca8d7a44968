"""The bottom region of the screen, which is redrawn as it changes, as plain lines of styled text."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agent.chat.events import ToolProgressed
from agent.ui.dialogues import Dialogue, Line
from agent.ui.escapes import clean_line
from agent.ui.guarding import Guarded
from agent.ui.terminal.cells import cell_len, cut, first_rows, last_rows
from agent.ui.terminal.paging import BACK, FORWARD, Paging

TAIL_ROWS = 8
MOST_ROWS = 500
"""The most rows of one text in a question; longer texts are folded earlier."""
BAR = 20
DRAFT_ROWS = 5
"""Rows reserved for a message that is being typed."""

_BELOW = ("error", "keys")
_TITLE = "class:question.title"

Fragment = tuple[str, str]
"""A style class of the application, and a text."""


@dataclass(slots=True, eq=False)
class Running:
    """A running tool call. `done` and `total` are in the unit of its progress notifications."""

    title: str
    done: float = 0.0
    total: float | None = None
    note: str = ""
    since: float = field(default_factory=time.monotonic)

    def take(self, event: ToolProgressed) -> None:
        self.done, self.total, self.note = event.done, event.total, event.note


@dataclass(slots=True, eq=False)
class Region:
    """The mutable state of the bottom region."""

    tail: str = ""
    thinking: str = ""
    running: dict[str, Running] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)
    dialogue: Guarded | None = None
    waiting: list[Dialogue] = field(default_factory=list)
    hint: str = ""
    status: str = ""
    shorter: tuple[str, ...] = ()
    """Shorter forms of the status for narrow windows, longest first."""
    opening: tuple[str, ...] = ()
    """While a turn waits for servers that are starting: the line typed, and what it waits for."""
    paging: Paging = field(default_factory=Paging)

    def above(self, width: int, rows: int) -> list[Fragment]:
        """Everything above the input line; at most `rows` lines, so that the input line always stays visible."""
        lines = self._around(width)
        if self.dialogue is None:
            lines += [("class:hint", "  A question waits until you stop typing.")] if self.waiting else []
            return lines[-max(1, rows) :]
        title, *rest = self._asked(width)
        asked = [row for part in rest for row in part]
        waiting = [(_TITLE, cut(f"  next: {clean_line(one.lines()[0][1])}", width)) for one in self.waiting]
        waiting = waiting[: max(0, rows - len(title) - len(asked))]
        asked = [*title, *waiting, *asked]
        return [*lines[len(lines) - min(len(lines), max(0, rows - len(asked))) :], *asked]

    def below(self, width: int) -> list[Fragment]:
        """The lines under the answer's input line: the error, and the available keys."""
        return [*self._below(width, "error"), *self._below(width, "keys")]

    def drawn(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        """The lines above the input line, and those below it.

        `rows` excludes the status, and the line on which a question is answered.
        """
        if self._pages(width, rows):
            return self._page(width, rows)
        below = self.below(width)
        return self.above(width, rows - (len(below) if self.dialogue else DRAFT_ROWS)), below

    def shows_all(self, width: int, rows: int) -> bool:
        """Whether every line of the question is, or has been, on the screen."""
        return not self._pages(width, rows) or self.paging.all_seen

    def turn(self, key: str, width: int, rows: int) -> bool:
        """Handle a key that turns a page; False if it is no such key, or the whole question fits."""
        pages = (key in FORWARD) - (key in BACK)
        if turns := bool(pages) and self._pages(width, rows):
            self.paging.turn(pages)
        return turns

    def status_within(self, width: int) -> str:
        """The longest form of the status that fits, cut if none does."""
        fitting = (status for status in (self.status, *self.shorter) if cell_len(status) <= width)
        return next(fitting, None) or cut((self.shorter or (self.status,))[-1], width)

    def _around(self, width: int) -> list[Fragment]:
        """What happens beside a question: streamed text, running tools, queued lines."""
        lines: list[Fragment] = []
        if self.tail or self.thinking:
            style = "class:tail" if self.tail else "class:thinking"
            lines += [(style, row) for row in last_rows(self.tail or self.thinking, width, TAIL_ROWS)]
        lines += [("class:tool", cut(row, width)) for row in map(_progress, self.running.values())]
        lines += [("class:queued", cut(clean_line(line), width)) for line in self.opening]
        return lines + [("class:queued", cut(f"  queued: {clean_line(line)}", width)) for line in self.queued]

    def _pages(self, width: int, rows: int) -> bool:
        """Split the question into pages if it is higher than `rows`. Returns whether it is."""
        if self.dialogue is None:
            return False
        title, between, field = self._asked(width)
        keys, errors = self._below(width, "keys"), self._below(width, "error")
        if len(title) + len(between) + len(field) + len(keys) + len(errors) <= rows:
            return False
        if self.dialogue.typing:
            shown, rest = _first(errors, rows - 1 - len(field), width)
            height = max(1, rows - 1 - len(shown))
            head, room = [*title, *between], max(0, height - len(field))
            self.paging.lay([*head[:room], *field, *rest, *head[room:]], keys, height)
        else:
            pinned = len(keys) if _are_pinned(keys, rows) else 0
            self.paging.lay([*title, *field], [] if pinned else keys, max(1, rows - 1 - pinned))
        return True

    def _page(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        foot = (self._foot_of_line if self.dialogue and self.dialogue.typing else self._foot)(width, rows)
        return self.paging.page()[: max(1, rows - len(foot))], foot

    def _foot(self, width: int, rows: int) -> list[Fragment]:
        """The rows below each page: the keys, or in a low window only the hint, with the keys after the last page."""
        keys, errors = self._below(width, "keys"), self._below(width, "error")
        pinned = keys if _are_pinned(keys, rows) else []
        hint = [("class:hint", cut(self.paging.hint(), width))]
        return [*(errors[: max(1, rows - len(pinned) - 1)] or hint), *pinned]

    def _foot_of_line(self, width: int, rows: int) -> list[Fragment]:
        """For a typed answer: errors, then the page hint and the keys on one row; the pages end with the full keys."""
        _, _, field = self._asked(width)
        shown, _ = _first(self._below(width, "error"), rows - 1 - len(field), width)
        keys = [text for style, text in self.dialogue.lines() if style == "keys"] if self.dialogue else []
        hint = cut(" · ".join([self.paging.hint("Page Down"), *keys]), width)
        return [*shown, ("class:hint", hint)][: max(0, rows - 1)]

    def _asked(self, width: int) -> tuple[list[Fragment], list[Fragment], list[Fragment]]:
        """The title, what is between, and the current question: in a form, the current field."""
        lines = [line for line in self.dialogue.lines() if line[0] not in _BELOW] if self.dialogue else []
        titles = [number for number, (style, _) in enumerate(lines) if style == "title"]
        at = max(1, titles[-1]) if titles else 1
        return _rows(width, lines[:1]), _rows(width, lines[1:at]), _rows(width, lines[at:])

    def _below(self, width: int, style: str) -> list[Fragment]:
        lines = self.dialogue.lines() if self.dialogue else []
        return _rows(width, [line for line in lines if line[0] == style])


def _are_pinned(keys: list[Fragment], rows: int) -> bool:
    return len(keys) <= rows // 2


def _first(rows: list[Fragment], most: int, width: int) -> tuple[list[Fragment], list[Fragment]]:
    """The rows that fit, at least one; and all rows again, for the pages, if some do not fit."""
    most = max(1, most)
    if len(rows) <= most:
        return rows, []
    style, text = rows[most - 1]
    return [*rows[: most - 1], (style, cut(f"{text} …", width))], rows


def _rows(width: int, lines: list[Line]) -> list[Fragment]:
    """The lines wrapped; a single text gets little more than `MOST_ROWS` rows."""
    return [(f"class:question.{style}", row) for style, text in lines for row in first_rows(text, width, MOST_ROWS)]


def _progress(tool: Running) -> str:
    note = f" {clean_line(tool.note)}" if tool.note else ""
    if tool.total and tool.total > 0:
        share = min(1.0, max(0.0, tool.done / tool.total))
        bar = "█" * round(share * BAR) + "░" * (BAR - round(share * BAR))
        return f"◌ {bar} {share:4.0%} {tool.title}{note}"
    count = f" {tool.done:g}" if tool.done else ""
    return f"◌ {tool.title}{count}{note}"
