"""What stands at the bottom of the screen while it may still change, as plain lines of styled text."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agent.chat.events import ToolProgressed
from agent.ui.dialogues import Dialogue, Line
from agent.ui.escapes import clean_line
from agent.ui.terminal.cells import cut, last_rows

TAIL_ROWS = 8
BAR = 20

_BELOW = ("error", "keys")

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
    dialogue: Dialogue | None = None
    waiting: list[Dialogue] = field(default_factory=list)
    hint: str = ""
    status: str = ""

    def above(self, width: int, rows: int) -> list[Fragment]:
        """Everything above the input line; at most `rows` lines, so that the input is always in sight."""
        lines: list[Fragment] = []
        if self.tail or self.thinking:
            style = "class:tail" if self.tail else "class:thinking"
            lines += [(style, row) for row in last_rows(self.tail or self.thinking, width, TAIL_ROWS)]
        lines += [("class:tool", cut(row, width)) for row in map(_progress, self.running.values())]
        lines += [("class:queued", cut(f"  queued: {clean_line(line)}", width)) for line in self.queued]
        if self.dialogue is None:
            return lines[-max(1, rows) :]
        asked = [line for line in self.dialogue.lines() if line[0] not in _BELOW]
        title, rest = _rows(width, asked[:1]), _rows(width, asked[1:])
        title += [("class:queued", cut(f"  next: {clean_line(one.lines()[0][1])}", width)) for one in self.waiting]
        return _pinned(lines, title, rest, max(2, rows))

    def below(self, width: int) -> list[Fragment]:
        """What stands under the line a question is answered on: what is wrong with it, and which keys there are."""
        return _rows(width, [line for line in self.dialogue.lines() if line[0] in _BELOW]) if self.dialogue else []


def _pinned(lines: list[Fragment], title: list[Fragment], rest: list[Fragment], rows: int) -> list[Fragment]:
    """Who asks is never out of sight: what there is no room for goes from above the question first, then within it."""
    room = max(1, rows - len(rest))
    if room < len(title):
        title = title[: max(1, min(len(title), rows // 2))]
        rest = rest[-(rows - len(title)) :]
    lines = lines[len(lines) - max(0, min(len(lines), rows - len(title) - len(rest))) :]
    return [*lines, *title, *rest]


def _rows(width: int, lines: list[Line]) -> list[Fragment]:
    return [(f"class:question.{style}", row) for style, text in lines for row in last_rows(text, width, 30)]


def _progress(tool: Running) -> str:
    note = f" {clean_line(tool.note)}" if tool.note else ""
    if tool.total and tool.total > 0:
        share = min(1.0, max(0.0, tool.done / tool.total))
        bar = "█" * round(share * BAR) + "░" * (BAR - round(share * BAR))
        return f"◌ {bar} {share:4.0%} {tool.title}{note}"
    count = f" {tool.done:g}" if tool.done else ""
    return f"◌ {tool.title}{count}{note}"
