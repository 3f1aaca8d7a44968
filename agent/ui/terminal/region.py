"""What stands at the bottom of the screen while it may still change, as plain lines of styled text."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agent.chat.events import ToolProgressed
from agent.ui.dialogues import Dialogue, Line
from agent.ui.escapes import clean_line
from agent.ui.guarding import Guarded
from agent.ui.terminal.cells import cell_len, cut, first_rows, last_rows

TAIL_ROWS = 8
BELOW_ROWS = 8
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

    def above(self, width: int, rows: int) -> list[Fragment]:
        """Everything above the input line; at most `rows` lines, so that the input is always in sight."""
        lines: list[Fragment] = []
        if self.tail or self.thinking:
            style = "class:tail" if self.tail else "class:thinking"
            lines += [(style, row) for row in last_rows(self.tail or self.thinking, width, TAIL_ROWS)]
        lines += [("class:tool", cut(row, width)) for row in map(_progress, self.running.values())]
        lines += [("class:queued", cut(clean_line(line), width)) for line in self.opening]
        lines += [("class:queued", cut(f"  queued: {clean_line(line)}", width)) for line in self.queued]
        if self.dialogue is None:
            lines += [("class:hint", "  A question waits until you stop typing.")] if self.waiting else []
            return lines[-max(1, rows) :]
        title, rest = self._asked(width, rows)
        waiting = [(_TITLE, cut(f"  next: {clean_line(one.lines()[0][1])}", width)) for one in self.waiting]
        if self.dialogue.typing:
            return _pinned(lines, [*title, *waiting, *rest], max(2, rows))
        waiting = waiting[: max(0, rows - len(title) - len(rest))]
        return _begun(lines, [*title, *waiting, *rest], max(1, rows))

    def below(self, width: int) -> list[Fragment]:
        """What stands under the line a question is answered on: what is wrong with it, and which keys there are."""
        if self.dialogue is None:
            return []
        return _rows(width, BELOW_ROWS, [line for line in self.dialogue.lines() if line[0] in _BELOW])

    def status_within(self, width: int) -> str:
        """The status, or as much of it as matters most."""
        fitting = (status for status in (self.status, *self.shorter) if cell_len(status) <= width)
        return next(fitting, None) or cut((self.shorter or (self.status,))[-1], width)

    def shows_all(self, width: int, rows: int) -> bool:
        """Whether `above` has room for every line of the question."""
        title, rest = self._asked(width, rows)
        return len(title) + len(rest) <= rows

    def _asked(self, width: int, rows: int) -> tuple[list[Fragment], list[Fragment]]:
        asked = [line for line in self.dialogue.lines() if line[0] not in _BELOW] if self.dialogue else []
        return _rows(width, rows, asked[:1]), _rows(width, rows, asked[1:])


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


def _begun(lines: list[Fragment], asked: list[Fragment], rows: int) -> list[Fragment]:
    """A question from its beginning, and a word where that is not all of it."""
    if len(asked) > rows:
        asked = [*asked[: rows - 1], ("class:hint", "… (v or ? shows all)")] if rows > 1 else asked[:1]
    above = rows - len(asked)
    return [*lines[len(lines) - min(len(lines), above) :], *asked]


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
