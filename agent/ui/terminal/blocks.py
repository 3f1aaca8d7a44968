"""Splits streamed Markdown into blocks, each returned as soon as later text can no longer change it.

Only the text of the open block is kept, and each line is parsed once. A block that exceeds a limit is split,
so that the work is linear in the length of the answer, whatever the text.
"""

from __future__ import annotations

import re

LIMIT = 8_000
"""The length of an open block, in characters, at which it is split."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_INDENTED_FENCE = re.compile(r"\s+(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])(\s|$)")
_MAYBE_ITEM = re.compile(r"[\s\d*+-]")
_FIRST_ITEM = re.compile(r" {0,3}([-*+]|1[.)])\s")
_RULER = re.compile(r" {0,3}([-*_=])(\s*\1){2,}\s*$")
_TABLE_RULER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")


class Blocks:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._partial: list[str] = []
        self._partial_size = 0
        self._fence = ""
        self._finished: list[str] = []

    @property
    def tail(self) -> str:
        """The open block so far."""
        return "\n".join([*self._lines, "".join(self._partial)])

    def feed(self, piece: str) -> list[str]:
        """The blocks that `piece` completes."""
        *lines, rest = piece.split("\n")
        for line in lines:
            self._partial.append(line)
            self._end_line()
        if rest:
            if not self._partial:
                self._begin_line(rest)
            self._partial.append(rest)
            self._partial_size += len(rest)
        if self._partial_size > LIMIT:
            self._end_line()
        return self._take()

    def finish(self) -> list[str]:
        """The open block, even if it is incomplete."""
        self._end_line()
        self._close()
        return self._take()

    def _take(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def _begin_line(self, start: str) -> None:
        """After a blank line, the first character of a line may show that a list has ended."""
        if self._in_list() and not self._fence and not self._lines[-1].strip() and not _MAYBE_ITEM.match(start):
            self._close()

    def _end_line(self) -> None:
        line = "".join(self._partial)
        self._partial, self._partial_size = [], 0
        self._add(line)
        if self._size > LIMIT:
            self._cut()

    def _add(self, line: str) -> None:
        if self._fence:
            self._add_to_fence(line)
        elif not line.strip():
            self._blank(line)
        elif self._in_list() and line.startswith("  "):
            self._text(line)
        elif fence := _FENCE.match(line):
            self._open(line)
            self._fence = fence[1]
        elif _HEADING.match(line):
            self._open(line)
            self._close()
        elif _RULER.match(line):
            self._keep(line)
            self._close()
        else:
            self._text(line)

    def _add_to_fence(self, line: str) -> None:
        self._keep(line)
        bare = line.strip()
        if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
            self._fence = ""
            if not self._in_list():
                self._close()

    def _blank(self, line: str) -> None:
        """A blank line ends every block but a list, which another item may continue."""
        if self._in_list():
            self._keep(line)
        else:
            self._close()

    def _text(self, line: str) -> None:
        if self._in_list():
            if not (line.startswith("  ") or _ITEM.match(line)) and not self._lines[-1].strip():
                self._close()
            elif fence := _INDENTED_FENCE.match(line):
                self._fence = fence[1]
        elif self._lines and _FIRST_ITEM.match(line):
            self._close()
        self._keep(line)

    def _in_list(self) -> bool:
        return bool(self._lines) and _ITEM.match(self._lines[0]) is not None

    def _open(self, line: str) -> None:
        self._close()
        self._keep(line)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _close(self) -> None:
        if text := "\n".join(self._lines).rstrip():
            self._finished.append(text)
        self._lines, self._size, self._fence = [], 0, ""

    def _cut(self) -> None:
        """Split the open block, and repeat its opening: a code fence is reopened, a table gets its header again."""
        fence, again = self._fence, []
        if fence and not self._in_list():
            again = self._lines[:1]
            self._lines.append(fence)
        elif len(self._lines) > 2 and "|" in self._lines[0] and _TABLE_RULER.match(self._lines[1]):
            again = self._lines[:2]
        self._close()
        self._fence = fence if again else ""
        for line in again:
            self._keep(line)
