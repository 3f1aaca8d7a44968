"""Bytes to server-sent events and back, with no I/O (the WHATWG's "event stream" format).

Lines are split as bytes, so that a character or a line end may be divided between two reads, and the data of an event
stays bytes: only the JSON parser decodes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.mcp.envelope import SALVAGED

EVENT_LIMIT = 64 * 1024 * 1024  # bytes of one event that are read by default
RETRY_LIMIT = 24 * 60 * 60 * 1000  # milliseconds; longer reconnection times are reduced to it
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """An event with data. `kind` is its `event` field, `id` its own id, if it has one."""

    data: bytes
    kind: str = "message"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Overlong:
    """An event beyond the limit was dropped; these are its first and its last bytes."""

    head: bytes
    tail: bytes


class EventReader:
    """An incremental parser: `feed` takes chunks of any size, and returns the events they complete.

    `last_id` is the id to resume after: that of the last complete event, including one without data, which only sets
    the id. `retry` is the reconnection time in milliseconds, if the server sent one.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.last_id: str | None = None
        self.retry: int | None = None
        self._limit = limit
        self._first = True
        self._after_cr = False
        self._begin()

    def reconnected(self) -> None:
        """A new connection: an incomplete event is discarded."""
        self._first, self._after_cr = True, False
        self._begin()

    def feed(self, chunk: bytes) -> list[Event | Overlong]:
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *finished, rest = chunk.split(b"\n")
        events = []
        for piece in finished:
            self._keep(piece)
            if event := self._end_line():
                events.append(event)
        self._keep(rest)
        return events

    def _begin(self) -> None:
        self._kind = ""
        self._id: str | None = None
        self._data: list[bytes] = []
        self._line: list[bytes] = []
        self._size = 0
        self._excess: _Excess | None = None

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._excess:
            self._excess.add(piece)
        elif self._size <= self._limit:
            self._line.append(piece)
        else:
            self._excess = _Excess(b"".join([*self._data, *self._line, piece]))
            self._data, self._line = [], []

    def _end_line(self) -> Event | Overlong | None:
        if self._excess:
            return self._dispatch() if self._excess.end_line() else None
        line = b"".join(self._line)
        self._line = []
        if self._first:
            line, self._first = line.removeprefix(BOM), False
        if not line:
            return self._dispatch()
        self._field(line)
        return None

    def _field(self, line: bytes) -> None:
        colon = line.find(b":")
        name = line if colon < 0 else line[:colon]
        value = b"" if colon < 0 else line[colon + (2 if line[colon + 1 : colon + 2] == b" " else 1) :]
        if name == b"data":
            self._data.append(value)
            return
        self._size -= len(line)  # only data is kept
        if name == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            self.retry = min(int(value), RETRY_LIMIT)

    def _dispatch(self) -> Event | Overlong | None:
        """End the event, at an empty line. Its id counts only now: an incomplete event has to be sent again."""
        excess, data, kind, id = self._excess, b"\n".join(self._data), self._kind, self._id
        if id is not None:
            self.last_id = id or None  # an empty id means that the stream cannot be resumed
        self._begin()
        if excess:
            return Overlong(excess.head, excess.tail)
        return Event(data, kind or "message", id or None) if data else None


class _Excess:
    """What is kept of an event beyond the limit: both ends, and whether the current line is still empty."""

    def __init__(self, begun: bytes) -> None:
        self.head, self.tail = begun[:SALVAGED], begun[-SALVAGED:]
        self._line_is_empty = False

    def add(self, piece: bytes) -> None:
        self.tail = (self.tail + piece)[-SALVAGED:]
        self._line_is_empty = self._line_is_empty and not piece

    def end_line(self) -> bool:
        """True if it was the empty line that ends the event."""
        was_empty, self._line_is_empty = self._line_is_empty, True
        return was_empty


def encode_event(data: bytes, *, id: str | None = None, kind: str | None = None, retry: int | None = None) -> bytes:
    """One event, encoded. With an `id` and no data it only sets the id to resume after."""
    lines = [b"event: " + kind.encode()] if kind else []
    if id is not None:
        lines.append(b"id: " + id.encode())
    if retry is not None:
        lines.append(b"retry: %d" % retry)
    lines += [b"data: " + line for line in data.split(b"\n")]
    return b"\n".join(lines) + b"\n\n"


KEEPALIVE = b": keepalive\n\n"
