"""Event streams of a session, stored so that a client that reconnects gets the rest."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice

import anyio

from agent.mcp.sse import encode_event

KEPT_EVENTS = 1_000  # of one stream, that have been read or have no reader
KEPT_BYTES = 16 * 1024 * 1024  # likewise, and of all the streams of a session that have ended
KEPT_STREAMS = 64  # of a session that have ended, in case the client did not receive the end
BACKLOG = 256  # events a reader may be behind before the writer waits for it
STALL_SECONDS = 30.0  # for a reader that does not read


class EventStream:
    """One stream. `name` is the prefix of its event ids; a stream without one cannot be resumed."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.ended = False
        self.only_answers = True
        self.size = 0
        self._hung_up = False
        self._given = 0  # the last event a reader was given
        self._events: deque[bytes] = deque()
        self._forgotten = 0
        self._reader: Reader | None = None
        self._changed = anyio.Event()

    @property
    def last(self) -> int:
        """The number of the newest event. The first is 1."""
        return self._forgotten + len(self._events)

    async def append(self, data: bytes, *, answer: bool = False) -> None:
        """Add an event. Waits while the reader is BACKLOG behind, at most STALL_SECONDS."""
        self._events.append(data)
        self.only_answers = self.only_answers and answer
        self.size += len(data)
        self._trim()
        self._wake()
        if self._behind > BACKLOG:
            with anyio.move_on_after(STALL_SECONDS):
                while self._behind > BACKLOG:
                    await self._changed.wait()

    def end(self) -> None:
        """No more events will follow."""
        self.ended = True
        self._wake()

    def hang_up(self) -> None:
        """Disconnect the reader, or the next one if there is none yet; it may reconnect for the rest."""
        self._hung_up = self._reader is None
        self._reader = None
        self._wake()

    def read(self, after: int | None = None) -> Reader:
        """A reader of what follows event `after`, or the last event that was read.

        It replaces the reader before it: no event is sent twice.
        """
        reader = Reader(self, self._given if after is None else after)
        self._reader, self._hung_up = None if self._hung_up else reader, False
        self._wake()
        return reader

    async def settled(self) -> None:
        """Wait until the stream has ended, or has an event that is not a response."""
        while self.only_answers and not (self.ended or self._hung_up):
            await self._changed.wait()

    def id_of(self, number: int) -> str | None:
        """The id of an event; number 0 is the beginning."""
        return f"{self.name}-{number}" if self.name else None

    def all(self) -> list[bytes]:
        return list(self._events)

    @property
    def _behind(self) -> int:
        return self.last - self._reader.position if self._reader else 0

    def _trim(self) -> None:
        while len(self._events) > 1 and (len(self._events) > KEPT_EVENTS or self.size > KEPT_BYTES):
            if self._reader and self._reader.position <= self._forgotten:
                return  # its reader has still to read it
            self._forget()

    def _forget(self) -> None:
        self.size -= len(self._events.popleft())
        self._forgotten += 1

    def _forget_all(self) -> None:
        while self._events:
            self._forget()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class Reader:
    """A position in a stream: the number of the last event that was read."""

    def __init__(self, stream: EventStream, after: int) -> None:
        self._stream, self.position = stream, after

    @property
    def is_done(self) -> bool:
        """Whether this reader gets no more events."""
        stream = self._stream
        return stream._reader is not self or (stream.ended and self.position >= stream.last)

    def take(self) -> bytes:
        """The events since the last call, encoded."""
        stream = self._stream
        if stream._reader is not self or self.position >= stream.last:
            return b""
        start = max(self.position - stream._forgotten, 0)
        numbered = enumerate(islice(stream._events, start, None), stream._forgotten + start + 1)
        chunk = b"".join(encode_event(data, id=stream.id_of(number)) for number, data in numbered)
        self.position = stream._given = stream.last
        if not stream.name:
            stream._forget_all()
        stream._wake()
        return chunk

    async def more(self) -> None:
        """Wait until there are events, or the reader is done."""
        while not self.is_done and self.position >= self._stream.last:
            await self._stream._changed.wait()

    def close(self) -> None:
        if self._stream._reader is self:
            self._stream._reader = None
            self._stream._wake()


class EventStore:
    """The streams of one session."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, EventStream] = OrderedDict()
        self._count = 0

    def open(self) -> EventStream:
        self._count += 1
        stream = self._streams[str(self._count)] = EventStream(str(self._count))
        self._trim()
        return stream

    def drop(self, stream: EventStream) -> None:
        """Forget a stream whose contents were delivered otherwise."""
        self._streams.pop(stream.name, None)

    def find(self, event_id: str) -> tuple[EventStream, int] | None:
        """The stream an event was on, and the number of the event."""
        name, _, number = event_id.partition("-")
        stream = self._streams.get(name)
        return (stream, int(number)) if stream and number.isdecimal() and len(number) < 16 else None

    def end_all(self) -> None:
        for stream in self._streams.values():
            stream.end()

    def _trim(self) -> None:
        ended = [stream for stream in self._streams.values() if stream.ended]
        size = sum(stream.size for stream in ended)
        for position, stream in enumerate(ended):
            if size <= KEPT_BYTES and len(ended) - position <= KEPT_STREAMS:
                break
            size -= stream.size
            del self._streams[stream.name]
