"""What stands at the bottom of the screen while it may still change, as plain lines of styled text."""

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
"""Of one text in a question; a longer one is folded before."""
BAR = 20

_BELOW = ("error", "keys")
_TITLE = "class:question.title"

Fragment = tuple[str, str]
"""A style of the application and a text."""


@dataclass(slots=True, eq=False)
class Running:
    """A tool at work. `done` and `total` are in whatever unit it counts."""

    title: str
    done: float = 0.0
    total: float | None = None
    note: str = ""
    since: float = field(default_factory=time.monotonic)

    def take(self, event: ToolProgressed) -> None:
        self.done, self.total, self.note = event.done, event.total, event.note


@dataclass(slots=True, eq=False)
class Region:
    """The mutable state of the bottom of the screen."""

    tail: str = ""
    thinking: str = ""
    running: dict[str, Running] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)
    dialogue: Guarded | None = None
    waiting: list[Dialogue] = field(default_factory=list)
    hint: str = ""
    status: str = ""
    shorter: tuple[str, ...] = ()
    """What the status is where it does not fit, longest first."""
    opening: tuple[str, ...] = ()
    """A turn that cannot begin yet: what was typed, and what it waits for."""
    paging: Paging = field(default_factory=Paging)

    def above(self, width: int, rows: int) -> list[Fragment]:
        """Everything above the input line; at most `rows` lines, so that the input is always in sight."""
        lines = self._around(width)
        if self.dialogue is None:
            lines += [("class:hint", "  A question waits until you stop typing.")] if self.waiting else []
            return lines[-max(1, rows) :]
        waiting = [(_TITLE, cut(f"  next: {clean_line(one.lines()[0][1])}", width)) for one in self.waiting]
        if self.dialogue.typing:
            title, rest = self._asked(width, rows)
            return _pinned(lines, [*title, *waiting, *rest], max(2, rows))
        title, rest = self._asked(width, MOST_ROWS)
        waiting = waiting[: max(0, rows - len(title) - len(rest))]
        asked = [*title, *waiting, *rest]
        return [*lines[len(lines) - min(len(lines), max(0, rows - len(asked))) :], *asked]

    def below(self, width: int) -> list[Fragment]:
        """What stands under the line a question is answered on: what is wrong with it, and which keys there are."""
        return [*self._below(width, "error"), *self._below(width, "keys")]

    def drawn(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        """What stands above the line that is typed on, and below it, in a window of `rows` above the status."""
        if self._pages(width, rows):
            return self._page(width, rows)
        below = self.below(width)[: max(1, rows - 3)]  # the question counts for more than the last of its keys
        is_typed = self.dialogue is None or self.dialogue.typing
        return self.above(width, rows - (5 if is_typed else len(below))), below

    def shows_all(self, width: int, rows: int) -> bool:
        """Whether every line of the question is, or has been, on the screen."""
        return not self._pages(width, rows) or self.paging.all_seen

    def turn(self, key: str, width: int, rows: int) -> bool:
        """Take a key that turns a page; False where it does not, as all of the question fits."""
        pages = (key in FORWARD) - (key in BACK)
        if turns := bool(pages) and self._pages(width, rows):
            self.paging.turn(pages)
        return turns

    def status_within(self, width: int) -> str:
        """The status, or as much of it as matters most."""
        fitting = (status for status in (self.status, *self.shorter) if cell_len(status) <= width)
        return next(fitting, None) or cut((self.shorter or (self.status,))[-1], width)

    def _around(self, width: int) -> list[Fragment]:
        """What goes on meanwhile."""
        lines: list[Fragment] = []
        if self.tail or self.thinking:
            style = "class:tail" if self.tail else "class:thinking"
            lines += [(style, row) for row in last_rows(self.tail or self.thinking, width, TAIL_ROWS)]
        lines += [("class:tool", cut(row, width)) for row in map(_progress, self.running.values())]
        lines += [("class:queued", cut(clean_line(line), width)) for line in self.opening]
        return lines + [("class:queued", cut(f"  queued: {clean_line(line)}", width)) for line in self.queued]

    def _pages(self, width: int, rows: int) -> bool:
        """Lay the question out for a window of `rows`, if it is one that a key answers and too high for that."""
        if self.dialogue is None or self.dialogue.typing:
            return False
        title, rest = self._asked(width, MOST_ROWS)
        asked, keys = [*title, *rest], self._below(width, "keys")
        if len(asked) + len(keys) + len(self._below(width, "error")) <= rows:
            return False
        pinned = len(keys) if _are_pinned(keys, rows) else 0
        self.paging.lay(asked, [] if pinned else keys, max(1, rows - 1 - pinned))
        return True

    def _page(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        """The keys stand below every page, or at the end of the last one if they took too much of a low window."""
        keys, notes = self._below(width, "keys"), self._below(width, "error")
        pinned = keys if _are_pinned(keys, rows) else []
        hint = [("class:hint", cut(self.paging.hint(), width))]
        foot = [*(notes[: max(1, rows - len(pinned) - 1)] or hint), *pinned]
        return self.paging.page()[: max(1, rows - len(foot))], foot

    def _asked(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        asked = [line for line in self.dialogue.lines() if line[0] not in _BELOW] if self.dialogue else []
        return _rows(width, rows, asked[:1]), _rows(width, rows, asked[1:])

    def _below(self, width: int, style: str) -> list[Fragment]:
        lines = self.dialogue.lines() if self.dialogue else []
        return _rows(width, MOST_ROWS, [line for line in lines if line[0] == style])


def _are_pinned(keys: list[Fragment], rows: int) -> bool:
    return len(keys) <= rows // 2


def _pinned(lines: list[Fragment], asked: list[Fragment], rows: int) -> list[Fragment]:
    """Who asks for what is never out of sight: what there is no room for goes from above the question, then within."""
    surplus = len(asked) - rows
    kept: list[Fragment] = []
    for style, text in asked:
        if surplus > 0 and style != _TITLE:
            surplus -= 1
        else:
            kept.append((style, text))
    above = max(0, rows - len(kept))
    return [*lines[len(lines) - min(len(lines), above) :], *kept[:rows]]


def _rows(width: int, most: int, lines: list[Line]) -> list[Fragment]:
    """Wrapped, and no text by much more than `most` rows of it."""
    return [(f"class:question.{style}", row) for style, text in lines for row in first_rows(text, width, max(1, most))]


def _progress(tool: Running) -> str:
    note = f" {clean_line(tool.note)}" if tool.note else ""
    if tool.total and tool.total > 0:
        share = min(1.0, max(0.0, tool.done / tool.total))
        bar = "█" * round(share * BAR) + "░" * (BAR - round(share * BAR))
        return f"◌ {bar} {share:4.0%} {tool.title}{note}"
    count = f" {tool.done:g}" if tool.done else ""
    return f"◌ {tool.title}{count}{note}"
