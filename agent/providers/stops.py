"""Stop sequences for APIs without them: the text is cut here, also if a sequence spans several deltas."""

from __future__ import annotations

from collections.abc import Iterable

from agent.providers.content import sendable


class StopCutter:
    """Passes streamed text on, and holds back only what may be the beginning of a stop sequence.

    It also holds back the first half of a surrogate pair until the second half has arrived.
    """

    def __init__(self, stops: Iterable[str] = ()) -> None:
        self._stops = tuple(filter(None, stops))
        self._held = ""
        self.has_cut = False

    def feed(self, delta: str) -> str:
        """The text that may be shown now. After a stop sequence it is empty, and `has_cut` is true."""
        if self.has_cut:
            return ""
        text = self._held + delta
        end = self._first_stop(text)
        if end is not None:
            self.has_cut, self._held = True, ""
            return sendable(text[:end])
        keep = self._beginning(text) or (1 if _is_high_surrogate(text[-1:]) else 0)
        self._held = text[len(text) - keep :]
        return sendable(text[: len(text) - keep])

    def flush(self) -> str:
        """The text held back, once the stream has ended."""
        text, self._held = self._held, ""
        return sendable(text)

    def _first_stop(self, text: str) -> int | None:
        return min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=None)

    def _beginning(self, text: str) -> int:
        """The number of characters at the end that may begin a stop sequence."""
        lengths = (length for stop in self._stops for length in range(1, len(stop)) if text.endswith(stop[:length]))
        return max(lengths, default=0)


def _is_high_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"
