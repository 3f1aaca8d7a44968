"""One request over Streamable HTTP, up to its response; if its stream breaks off, it is resumed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio

from agent.mcp.envelope import Closed, ConnectionLost, Envelope, Garbled, Inbound
from agent.mcp.exchange import (
    Accepted,
    Refused,
    Rejected,
    SessionHeaders,
    Sse,
    get_headers,
    named,
    post_headers,
    read_document,
    read_rejection,
    unexpected,
)
from agent.mcp.jsonrpc import INVALID_REQUEST, Request, encode
from agent.mcp.protocol import SESSION_HEADER
from agent.mcp.routing import revision_of
from agent.mcp.transports.http_streams import Incoming, is_temporary, retry_after

if TYPE_CHECKING:
    from agent.mcp.transports.http_caller import Answer, HttpCaller

Deliver = Callable[[Inbound | ConnectionLost], Awaitable[None]]

ATTEMPTS = 5  # to resume a stream, without success, in a row
REJECTION_SECONDS = 5.0  # for the body of an error
TAIL_SECONDS = 1.0  # for a stream to end after the response, so that its connection can be reused


@dataclass(slots=True, eq=False)
class Endpoint:
    """The MCP endpoint of a server, shared by all exchanges. `session` has the headers of the last handshake."""

    caller: HttpCaller
    limit: int
    deliver: Deliver
    session: SessionHeaders


class Exchange:
    """A pending request; cancelling `scope` closes its stream.

    Raises:
        TypeError, ValueError: JSON cannot represent the params.
    """

    def __init__(self, endpoint: Endpoint, request: Request, context: Mapping[str, Any]) -> None:
        self._endpoint, self.request = endpoint, request
        self.is_stateless = revision_of(request) is not None
        self.scope = anyio.CancelScope()
        self._begins = request.method == "initialize"
        self._headers, self._body = post_headers(request, endpoint.session, context), encode(request)
        self._incoming = Incoming(request.id, endpoint.limit)

    async def run(self) -> None:
        """Send the request, and deliver its response and what precedes that.

        Raises:
            ConnectionLost: there is no response, and there will be none.
        """
        endpoint, incoming = self._endpoint, self._incoming
        try:
            async with endpoint.caller.call("POST", self._headers, self._body) as answer:
                await self._take(answer)
        except ConnectionLost:
            if not self._can_resume:
                raise
        if incoming.answered:
            return
        if not self._can_resume:
            raise ConnectionLost(f"{named(endpoint.caller.url)} closed the stream before it answered.")
        await anyio.sleep(incoming.delay)
        await _follow(endpoint, incoming, self._deliver)

    @property
    def _can_resume(self) -> bool:
        """Streams of the stateless era cannot be resumed."""
        return self._incoming.last_id is not None and not self.is_stateless

    async def _take(self, answer: Answer) -> None:
        if self._begins:
            self._endpoint.session.id = answer.head.headers.get(SESSION_HEADER)
        match await answer.sniffed():
            case Sse():
                await _read(answer, self._incoming, self._deliver)
            case Accepted():
                raise unexpected(answer.head, b"")
            case Rejected():
                await self._reject(answer)
            case _:
                for item in await self._read_document(answer):
                    await self._deliver(item)
                self._incoming.answered = True

    async def _reject(self, answer: Answer) -> None:
        body = b""
        with anyio.move_on_after(REJECTION_SECONDS):
            body = await answer.read(self._endpoint.limit)
        reason = read_rejection(answer.head, body, in_session=SESSION_HEADER in self._headers)
        if isinstance(reason, Refused):
            raise reason
        id = self.request.id
        await self._deliver(Envelope((replace(reason, id=id),), about=id))
        self._incoming.answered = True

    async def _read_document(self, answer: Answer) -> list[Envelope | Garbled | Closed]:
        body, limit, id = await answer.read(self._endpoint.limit), self._endpoint.limit, self.request.id
        if len(body) > limit:
            return [Garbled(INVALID_REQUEST, f"it is longer than {limit} bytes", "", id, "answer", lost=True)]
        return read_document(answer.head, body, id)

    async def _deliver(self, item: Inbound | ConnectionLost) -> None:
        if self._begins:
            self._endpoint.session.learn(item)
        await self._endpoint.deliver(item)


async def listen(endpoint: Endpoint) -> None:
    """Receive on the standalone stream, if the server has one (section "Listening for Messages from the Server")."""
    with suppress(Refused):
        await _follow(endpoint, Incoming(None, endpoint.limit), endpoint.deliver)


async def _follow(endpoint: Endpoint, incoming: Incoming, deliver: Deliver) -> None:
    """Resume a stream, whenever it breaks off, until its response has arrived."""
    while True:
        try:
            await _resume(endpoint, incoming, deliver)
            incoming.disconnected(failed=False)
        except Refused:
            raise
        except ConnectionLost:
            if incoming.disconnected(failed=True) >= ATTEMPTS and incoming.about is not None:
                raise
        if incoming.answered:
            return
        await anyio.sleep(incoming.delay)


async def _resume(endpoint: Endpoint, incoming: Incoming, deliver: Deliver) -> None:
    """Raises Refused if another attempt would be refused too."""
    async with endpoint.caller.call("GET", get_headers(endpoint.session, incoming.last_id)) as answer:
        if isinstance(answer.meaning, Sse):
            await _read(answer, incoming, deliver)
        elif is_temporary(answer.head.status):
            incoming.postpone(retry_after(answer.head.headers, time.time()))
            raise ConnectionLost(f"{named(endpoint.caller.url)} cannot continue the stream ({answer.head.status}).")
        else:
            raise unexpected(answer.head, b"")


async def _read(answer: Answer, incoming: Incoming, deliver: Deliver) -> None:
    """Deliver the messages of a stream, until it ends."""
    incoming.connected()
    with anyio.CancelScope() as tail:
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for item in incoming.feed(chunk):
                    await deliver(item)
                if incoming.answered:
                    tail.deadline = min(tail.deadline, anyio.current_time() + TAIL_SECONDS)
