"""A question that is higher than the window, one page after another: which page is on the screen, and which were."""

from __future__ import annotations

from dataclasses import dataclass, field

FORWARD = (" ", "\x1b[6~", "\x1b[b")  # Space, Page Down, Down: as a key press is heard, in lower case
BACK = ("\x1b[5~", "\x1b[a", "\x7f", "\x08")  # Page Up, Up, Backspace

Row = tuple[str, str]


@dataclass(slots=True, eq=False)
class Paging:
    """Another question, or another window, begins at the first page; other keys below the same question do not."""

    at: int = 0
    _subject: list[Row] = field(default_factory=list)
    _rows: list[Row] = field(default_factory=list)
    _height: int = 0
    _seen: set[int] = field(default_factory=set)

    @property
    def pages(self) -> int:
        return max(1, -(-len(self._rows) // max(1, self._height)))

    @property
    def all_seen(self) -> bool:
        return self._seen >= set(range(self.pages))

    def lay(self, subject: list[Row], keys: list[Row], height: int) -> None:
        """Pages of `height` rows: what is asked, and at its end the keys that are to be part of the last page."""
        if (subject, height) != (self._subject, self._height):
            self._subject, self._height, self.at, self._seen = subject, height, 0, set()
        self._rows = [*subject, *keys]
        self.at = min(self.at, self.pages - 1)

    def page(self) -> list[Row]:
        """What is to be drawn now, and counts as seen."""
        self._seen.add(self.at)
        return self._rows[self.at * self._height : (self.at + 1) * self._height]

    def turn(self, pages: int) -> None:
        """After the last comes the first."""
        self.at = (self.at + pages) % self.pages

    def hint(self) -> str:
        """Where one is, and how to go on."""
        last = self.at + 1 == self.pages
        return f"{self.at + 1}/{self.pages} Space: {'from the top' if last else 'more'}"
