"""A question that is higher than the window, shown in pages: the current page, and the pages shown so far."""

from __future__ import annotations

from dataclasses import dataclass, field

PAGE_DOWN, PAGE_UP = "\x1b[6~", "\x1b[5~"
FORWARD = (" ", PAGE_DOWN, "\x1b[b")  # Space, Page Down, Down: in lower case, as key presses arrive here
BACK = (PAGE_UP, "\x1b[a", "\x7f", "\x08")  # Page Up, Up, Backspace

Row = tuple[str, str]


@dataclass(slots=True, eq=False)
class Paging:
    """Another question or window height starts at the first page; other keys below the same question do not."""

    at: int = 0
    _subject: list[Row] = field(default_factory=list)
    _height: int = 0
    _pages: list[list[Row]] = field(default_factory=lambda: [[]])
    _seen: set[int] = field(default_factory=set)

    @property
    def pages(self) -> int:
        return len(self._pages)

    @property
    def all_seen(self) -> bool:
        return self._seen >= set(range(self.pages))

    def lay(self, subject: list[Row], keys: list[Row], height: int) -> None:
        """Split into pages of `height` rows: the question, then the keys, which share a page if they fit on one."""
        if (subject, height) != (self._subject, self._height):
            self._subject, self._height, self.at, self._seen = subject, height, 0, set()
        *before, last = _cut(subject, height)
        joined = [[*last, *keys]] if len(last) + len(keys) <= height else [last, *_cut(keys, height)]
        self._pages = [*before, *joined]
        self.at = min(self.at, self.pages - 1)

    def page(self) -> list[Row]:
        """The current page, which counts as seen from now on."""
        self._seen.add(self.at)
        return self._pages[self.at]

    def turn(self, pages: int) -> None:
        """Move by that many pages, wrapping around at either end."""
        self.at = (self.at + pages) % self.pages

    def hint(self, key: str = "Space") -> str:
        """The page number, and the key for the next page."""
        last = self.at + 1 == self.pages
        return f"{self.at + 1}/{self.pages} {key}: {'from the top' if last else 'more'}"


def _cut(rows: list[Row], height: int) -> list[list[Row]]:
    return [rows[at : at + height] for at in range(0, len(rows), height)] or [[]]
