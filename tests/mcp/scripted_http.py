"""An HTTP server that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from agent.mcp.envelope import Channel
from agent.mcp.jsonrpc import Message, Result, decode, encode
from agent.mcp.sse import EVENT_LIMIT, encode_event
from agent.mcp.transports.http_client import http
from tests.mcp.bridge import Receive, Scope, Send, bridge

URL = "http://127.0.0.1:8000/mcp"


@dataclass(frozen=True, slots=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Message:
        return decode(self.body)


@dataclass(slots=True)
class Reply:
    """`body` is all of it, or a function whose chunks are sent as they come."""

    status: int = 200
    type: str | None = "application/json"
    body: bytes | Callable[[], AsyncIterator[bytes]] = b""
    headers: dict[str, str] = field(default_factory=dict)


ACCEPTED = Reply(202, None)
Serve = Callable[[Seen], Reply]


class Scripted:
    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self.seen: list[Seen] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.startup.complete"})
            return
        body = (await receive())["body"]
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        seen = Seen(scope["method"], scope["raw_path"].decode() + (f"?{query}" if query else ""), headers, body)
        self.seen.append(seen)
        await _reply(self._serve(seen), send)

    def asked(self, method: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method]


async def _reply(reply: Reply, send: Send) -> None:
    typed = {} if reply.type is None else {"content-type": reply.type}
    headers = [(name.encode(), value.encode()) for name, value in (typed | reply.headers).items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if callable(reply.body):
        async for chunk in reply.body():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    else:
        await send({"type": "http.response.body", "body": reply.body})


def result(id: Any = 1, **value: Any) -> bytes:
    return encode(Result(id, value))


def events(*chunks: bytes) -> Reply:
    """A stream of just these chunks."""

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return Reply(200, "text/event-stream", stream)


def event(data: bytes, id: str | None = None, retry: int | None = None) -> bytes:
    return encode_event(data, id=id, retry=retry)


@asynccontextmanager
async def talking_to(
    serve: Serve,
    url: str = URL,
    *,
    headers: dict[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    limit: int = EVENT_LIMIT,
) -> AsyncIterator[tuple[Channel, Scripted]]:
    server = Scripted(serve)
    async with (
        bridge(server) as network,
        http(url, headers=headers, auth=auth, limit=limit, transport=network) as channel,
    ):
        yield channel, server
