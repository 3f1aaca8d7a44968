"""Checks what our ends of MCP send against the schema of the revision they speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from anyio.abc import ObjectStream

from agent.mcp.admission import Headers
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, MalformedMessage, Message, Notification, Request, RequestId, Result, decode
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from agent.mcp.routing import revision_of
from tests.wire_schema import STATELESS, Side, faults

App = Callable[[Any, Any, Any], Awaitable[None]]


class WatchedChannel(ObjectStream[Any]):
    """A session's channel that notes in `found` whatever the session says against the schema.

    In the handshake era it knows who is who by `initialize`; until that is answered nothing is checked. A message of
    the stateless era names its revision, and an answer has that of its question.
    """

    def __init__(self, channel: ObjectStream[Any], found: list[str]) -> None:
        self._channel, self._found = channel, found
        self._side: Side | None = None
        self._revision: str | None = None
        self._is_stateless = False
        self._ours: dict[RequestId, Request] = {}
        self._theirs: dict[RequestId, Request] = {}

    async def send(self, item: Envelope) -> None:
        if item.batch and self._revision not in (None, "2025-03-26"):
            self._found.append(f"a batch was sent in {self._revision}")
        for message in item.messages:
            if isinstance(message, Request):
                self._ours[message.id] = message
                self._meet(message, "client")
            self._learn(message, self._theirs)
            asked = self._asked(message)
            if self._side and (revision := self._revision_of(message, asked)):
                self._found += faults(self._side, revision, message, asked)
        await self._channel.send(item)

    async def receive(self) -> Any:
        item = await self._channel.receive()
        for message in item.messages if isinstance(item, Envelope) else ():
            if isinstance(message, Request):
                self._theirs[message.id] = message
                self._meet(message, "server")
            self._learn(message, self._ours)
        return item

    async def send_eof(self) -> None:
        await self._channel.send_eof()

    async def aclose(self) -> None:
        await self._channel.aclose()

    def _meet(self, request: Request, side: Side) -> None:
        if request.method == "initialize":
            self._side, self._is_stateless = side, False
        elif revision_of(request) == STATELESS:
            self._side, self._is_stateless = side, self._revision is None

    def _learn(self, message: Message, asked: dict[RequestId, Request]) -> None:
        match message:
            case Result(id, {"protocolVersion": revision}) if id in asked and asked[id].method == "initialize":
                self._revision = revision if revision in HANDSHAKE_REVISIONS else None

    def _asked(self, answer: Message) -> Request | None:
        has_question = isinstance(answer, Result | Failure) and answer.id is not None
        return self._theirs.get(answer.id) if has_question else None

    def _revision_of(self, message: Message, asked: Request | None) -> str | None:
        """Of a message of ours; None if it is not to be checked. `initialize` is one of the handshake, always."""
        asks = asked or (message if isinstance(message, Request) else None)
        named = revision_of(asks) if asks and asks.method != "initialize" else None
        if asks is None and isinstance(message, Notification) and self._is_stateless:
            named = STATELESS
        return named if named == STATELESS else self._revision


def watched_app(app: App, found: list[str]) -> App:
    """An ASGI app whose answers to requests of the stateless era are checked: there they need no session."""

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or Headers(scope["headers"]).get("mcp-protocol-version") != STATELESS:
            return await app(scope, receive, send)
        asked, said = bytearray(), bytearray()

        async def receive_and_keep() -> Any:
            event = await receive()
            asked.extend(event.get("body", b""))
            return event

        async def keep_and_send(event: Any) -> None:
            said.extend(event.get("body", b""))
            await send(event)

        try:
            await app(scope, receive_and_keep, keep_and_send)
        finally:
            found.extend(_faults_of_answer(bytes(asked), bytes(said)))

    return watched


def _faults_of_answer(asked: bytes, said: bytes) -> list[str]:
    try:
        request = decode(asked)
    except MalformedMessage:
        return []
    if not isinstance(request, Request) or revision_of(request) != STATELESS:
        return []
    return [fault for message in _messages(said) for fault in faults("server", STATELESS, message, request)]


def _messages(body: bytes) -> list[Message]:
    """Of a document, or of the events of a stream that are whole."""
    if body.startswith(b"{"):
        return [decode(body)]
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]
    data = [line[5:] for event in events for line in event.split(b"\n") if line.startswith(b"data:")]
    return [decode(each) for each in data if each.strip()]
