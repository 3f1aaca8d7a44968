"""HTTP+SSE, the transport of 2024-11-05, server side: one long GET for its messages, POSTs for the client's."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import anyio
from anyio.abc import ObjectStream

from agent.mcp.admission import Headers, refusal
from agent.mcp.envelope import Closed, Envelope
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MalformedMessage, decode, encode
from agent.mcp.sse import encode_event
from agent.mcp.transports.event_store import EventStream
from agent.mcp.transports.http_responses import (
    Receive,
    Scope,
    Send,
    send_document,
    send_events,
    send_refusal,
    while_connected,
)
from agent.mcp.transports.http_sessions import Serves, context_of, serve_contained

GET_PATH, POST_PATH = "/sse", "/messages"
WAITING = 64  # messages buffered for the server


class SseSession(ObjectStream[Any]):
    """A session as the server's channel, whose messages go to `stream`. `owner` is the principal that began it."""

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.stream = EventStream()
        self.posted, self._heard = anyio.create_memory_object_stream[Envelope](WAITING)

    async def receive(self) -> Envelope:
        return await self._heard.receive()

    async def send(self, item: Envelope | Closed) -> None:
        for message in item.messages if isinstance(item, Envelope) else ():  # this transport cannot resume a stream
            await self.stream.append(encode(message))

    async def send_eof(self) -> None:
        self.stream.end()

    async def aclose(self) -> None:
        self.stream.end()
        self.posted.close()
        self._heard.close()


class SseSessions:
    def __init__(self, server: Serves, limit: int) -> None:
        self._server, self._limit = server, limit
        self._sessions: dict[str, SseSession] = {}

    def end_all(self) -> None:
        for session in self._sessions.values():
            session.stream.end()

    async def get(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Begin a session and send its `endpoint` event; it ends with the connection."""
        if len(self._sessions) >= self._limit:
            await send_refusal(send, refusal(503, INTERNAL_ERROR, "There are too many sessions; try again later."))
            return
        id, session = secrets.token_urlsafe(24), SseSession(headers.owner)
        endpoint = f"{scope.get('root_path', '')}{POST_PATH}?session_id={id}"
        self._sessions[id] = session
        try:
            async with while_connected(receive) as tasks:
                tasks.start_soon(serve_contained, self._server, session)
                await send_events(send, session.stream.read(), encode_event(endpoint.encode(), kind="endpoint"))
        finally:
            del self._sessions[id]
            await session.aclose()

    async def post(self, scope: Scope, headers: Headers, body: bytes, send: Send) -> None:
        """Deliver a message to the server; the response is sent on the stream."""
        (id, *_) = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])
        session = self._sessions.get(id)
        if session is None or session.owner != headers.owner:
            await send_refusal(send, refusal(404, INVALID_REQUEST, "There is no such session; begin with a GET."))
            return
        try:
            message = decode(body)
        except MalformedMessage as error:
            await send_refusal(send, refusal(400, error.code, f"The body is {error}.", error.id))
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has closed the channel
            await session.posted.send(Envelope((message,), context=context_of(headers)))
        await send_document(send, 202, b"")
