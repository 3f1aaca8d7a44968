"""Bytes to messages and back, one JSON text per line: the framing of stdio, with no I/O (section "Transports, stdio").

A line is collected until its newline, in time and memory linear in its length. One longer than the limit is discarded
as it is read; only its first and last bytes are kept, to find the id of the message.
"""

from __future__ import annotations

from typing import Any

from agent.mcp.envelope import SALVAGED, Envelope, Garbled, garbled, misshapen
from agent.mcp.jsonrpc import INVALID_REQUEST, MalformedMessage, Message, as_message, encode, encode_batch, parse

LINE_LIMIT = 64 * 1024 * 1024  # bytes of one line that are read by default


def to_line(item: Envelope) -> bytes:
    """An envelope as one line, newline included."""
    if item.batch:
        return encode_batch(item.messages) + b"\n"
    return b"".join(encode(message) + b"\n" for message in item.messages)


class Lines:
    """An incremental parser: `feed` takes chunks of any size, and returns the items of the lines they complete."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._overlong: _Overlong | None = None

    def feed(self, data: bytes) -> list[Envelope | Garbled]:
        *finished, rest = data.split(b"\n")
        items = [item for piece in finished for item in self._finish(piece)]
        return items + self._keep(rest) if rest else items

    def end(self) -> list[Envelope | Garbled]:
        """The items of the last line when the stream ends; it needs no newline."""
        return self._finish(b"")

    def _keep(self, piece: bytes) -> list[Envelope | Garbled]:
        if self._overlong:
            self._overlong.add(piece)
        elif self._size + len(piece) <= self._limit:
            self._pieces.append(piece)
            self._size += len(piece)
        else:
            self._overlong = _Overlong(self._limit, b"".join([*self._pieces, piece]))
            self._forget()
            return self._overlong.at_once()
        return []

    def _finish(self, piece: bytes) -> list[Envelope | Garbled]:
        if not self._pieces and not self._overlong and len(piece) <= self._limit:
            return read_line(piece)
        items = self._keep(piece)
        if self._overlong:
            items += self._overlong.at_last()
            self._overlong = None
        else:
            line = b"".join(self._pieces)
            self._forget()  # before parsing it, so that a large line is not in memory twice
            items += read_line(line)
        return items

    def _forget(self) -> None:
        self._pieces, self._size = [], 0


class _Overlong:
    """A line beyond the limit. It is reported once: as soon as its first bytes suffice for that, or at its end."""

    def __init__(self, limit: int, begun: bytes) -> None:
        self._reason = f"it is longer than the limit of {limit:,} bytes"
        self._head, self._tail = begun[:SALVAGED], begun[-SALVAGED:]
        self._reported = False

    def add(self, piece: bytes) -> None:
        self._tail = (self._tail + piece[-SALVAGED:])[-SALVAGED:]

    def at_once(self) -> list[Envelope | Garbled]:
        """The item, if the first bytes have the id, or are not JSON: the end of such a line may never come."""
        item = garbled(INVALID_REQUEST, self._reason, self._head, b"", lost=True)
        self._reported = item.id is not None or self._head.lstrip()[:1] not in (b"{", b"[")
        return [item] if self._reported else []

    def at_last(self) -> list[Envelope | Garbled]:
        return [] if self._reported else [garbled(INVALID_REQUEST, self._reason, self._head, self._tail, lost=True)]


def read_line(line: bytes) -> list[Envelope | Garbled]:
    """The items of one line; a blank line has none."""
    if not line or line.isspace():
        return []
    try:
        body = parse(line)
    except MalformedMessage as error:
        return [garbled(error.code, str(error), line[:SALVAGED], line[-SALVAGED:])]
    if isinstance(body, list) and body:
        return _read_batch(body)
    message = _message_in(body)
    return [message if isinstance(message, Garbled) else Envelope((message,))]


def _read_batch(bodies: list[Any]) -> list[Envelope | Garbled]:
    """The messages of a batch in one envelope; each invalid element is a separate item."""
    found = [_message_in(body) for body in bodies]
    messages = tuple(message for message in found if not isinstance(message, Garbled))
    return [
        *([Envelope(messages, batch=True)] if messages else []),
        *(item for item in found if isinstance(item, Garbled)),
    ]


def _message_in(body: Any) -> Message | Garbled:
    try:
        return as_message(body)
    except MalformedMessage as error:
        return misshapen(error, body)
