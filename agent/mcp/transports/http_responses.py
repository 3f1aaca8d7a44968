"""Request bodies and responses over ASGI: JSON, errors, and event streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
from anyio.abc import TaskGroup

from agent.mcp.admission import Refusal, refusal
from agent.mcp.background import background
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, encode
from agent.mcp.sse import KEEPALIVE
from agent.mcp.transports.event_store import Reader

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
HeaderLines = list[tuple[bytes, bytes]]

KEEPALIVE_SECONDS = 15.0  # of silence on a stream, before proxies may close it
BODY_SECONDS = 30.0  # for a client to send its message

NOT_STARTED = refusal(500, INTERNAL_ERROR, "The server has not been started: its ASGI lifespan was not run.")

JSON_LINE = (b"content-type", b"application/json")
EVENT_LINES = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


async def read_body(receive: Receive, limit: int) -> bytes | Refusal:
    """The body of a request; a refusal if it is longer than `limit` bytes, or incomplete after BODY_SECONDS."""
    pieces, size = [], 0
    with anyio.move_on_after(BODY_SECONDS):
        while True:
            part = await receive()
            pieces.append(part.get("body", b""))
            size += len(pieces[-1])
            if size > limit:
                return refusal(413, INVALID_REQUEST, f"The body is longer than {limit} bytes.")
            if part["type"] == "http.disconnect":
                break
            if not part.get("more_body"):
                return b"".join(pieces)
    return refusal(408, INVALID_REQUEST, "The end of the body did not arrive.")


async def send_document(send: Send, status: int, body: bytes, more: HeaderLines | None = None) -> None:
    length = (b"content-length", b"%d" % len(body))
    lines = [length, *(more or [])] + ([JSON_LINE] if body else [])
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, refused: Refusal) -> None:
    more = [(b"allow", refused.allow.encode())] if refused.allow else []
    more += [(b"www-authenticate", refused.challenge.encode("latin-1", "replace"))] if refused.challenge else []
    more += [(b"retry-after", b"%d" % refused.retry_after)] if refused.retry_after is not None else []
    await send_document(send, refused.status, encode(refused.failure), more)


async def send_events(send: Send, reader: Reader, opening: bytes = b"", more: HeaderLines | None = None) -> None:
    """Send an event stream: the `opening`, then the events of a reader until it is done."""
    with closing(reader):
        await send({"type": "http.response.start", "status": 200, "headers": [*EVENT_LINES, *(more or [])]})
        await send_part(send, opening)
        while not reader.is_done:
            if chunk := reader.take():
                await send_part(send, chunk)
                continue
            with anyio.move_on_after(KEEPALIVE_SECONDS) as silence:
                await reader.more()
            if silence.cancelled_caught:
                await send_part(send, KEEPALIVE)
    await send({"type": "http.response.body", "body": b""})


async def send_part(send: Send, part: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": more})


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[TaskGroup]:
    """A task group for one request; it and the block are cancelled when the client disconnects."""
    async with background() as tasks:
        tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
        yield tasks


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    await disconnected(receive)
    scope.cancel()


async def disconnected(receive: Receive) -> None:
    """Wait until the client disconnects, or the response is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass
