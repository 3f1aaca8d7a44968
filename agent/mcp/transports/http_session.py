"""A session of Streamable HTTP as the server's channel: POST bodies come in, messages go out on event streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import ObjectStream

from agent.mcp.envelope import Closed, Envelope
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result, as_request_id, encode
from agent.mcp.lifecycle import at_least
from agent.mcp.peer import CANCELLED
from agent.mcp.transports.event_store import EventStore, EventStream, Reader

WAITING = 64  # envelopes buffered for the server


class HttpSession(ObjectStream[Any]):
    """One session. `revision` is the negotiated one, "" before; `busy` counts the HTTP requests that are open.

    `owner` is the principal that began it, "" without authorization; requests of others are refused.
    """

    def __init__(self, id: str, owner: str = "") -> None:
        self.id, self.owner, self.revision = id, owner, ""
        self.busy, self.used_at = 0, anyio.current_time()
        self.is_closed = False
        self._posted, self._heard = anyio.create_memory_object_stream[Envelope](WAITING)
        self._store = EventStore()
        self._own = self._store.open()
        self._owed: dict[RequestId, EventStream] = {}

    # The server's end.

    async def receive(self) -> Envelope:
        return await self._heard.receive()

    async def send(self, item: Envelope | Closed) -> None:
        """Responses and related messages go to the stream of their request, all others to that of the GET.

        `Closed` closes the stream of a request that is pending; the client reconnects for the rest.
        """
        if isinstance(item, Closed):
            if at_least(self.revision, "2025-11-25") and (stream := self._owed.get(item.about)):
                stream.hang_up()
            return
        for message in item.messages:
            if isinstance(message, Result | Failure):
                await self._answer(message)
            else:
                await self._stream_of(item.about).append(encode(message))

    async def send_eof(self) -> None:
        self.close()

    async def aclose(self) -> None:
        self.close()
        self._heard.close()

    # The client's end.

    async def post(
        self, messages: tuple[Message, ...], context: Mapping[str, Any], *, batch: bool
    ) -> EventStream | None:
        """Deliver messages to the server; the stream is that of the responses, if there are requests among them."""
        asked = [message.id for message in messages if isinstance(message, Request)]
        stream = self._store.open() if asked else None
        if stream:
            self._owed |= dict.fromkeys(asked, stream)
        try:
            await self._posted.send(Envelope(messages, batch, context=context))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has closed the channel
            self.close()
        for message in messages:
            if isinstance(message, Notification) and message.method == CANCELLED:
                self._release(as_request_id((message.params or {}).get("requestId")))
        return stream

    def is_owed(self, id: RequestId) -> bool:
        """Whether a request with this id is pending."""
        return id in self._owed

    def listen(self, after: str | None) -> Reader | None:
        """A reader of the stream of unrelated messages, or of the rest after event `after`; None if that is unknown."""
        if after is None:
            return self._own.read()
        found = self._store.find(after)
        return found[0].read(found[1]) if found else None

    def answered_at_once(self, stream: EventStream) -> list[bytes]:
        """The responses on a stream that has ended and holds nothing else; the stream is dropped."""
        self._store.drop(stream)
        return stream.all()

    def close(self) -> None:
        """End the server's input, and all streams."""
        self.is_closed = True
        self._posted.close()
        self._store.end_all()

    async def _answer(self, answer: Result | Failure) -> None:
        data = encode(answer)  # first, since it may raise
        match answer:
            case Result(value={"protocolVersion": str(revision)}) if not self.revision:
                self.revision = revision
        if answer.id is not None and (stream := self._owed.get(answer.id)):
            await stream.append(data, answer=True)
            self._release(answer.id)

    def _release(self, id: RequestId | None) -> None:
        """A request is settled; its stream ends with the last of its requests."""
        stream = None if id is None else self._owed.pop(id, None)
        if stream and stream not in self._owed.values():
            stream.end()

    def _stream_of(self, about: RequestId | None) -> EventStream:
        return self._own if about is None else self._owed.get(about, self._own)
