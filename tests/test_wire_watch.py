"""The watch on what our ends of MCP send sees what it is to see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, Result, encode
from agent.mcp.protocol import CAPABILITIES_KEY, REVISION_KEY
from agent.mcp.transports.memory import MemoryChannel, channel_pair
from tests.wire_schema import faults
from tests.wire_watch import WatchedChannel, watched_app

pytestmark = pytest.mark.anyio

META = {REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
HERE = {"capabilities": {}, "serverInfo": {"name": "here", "version": "0"}}
TASK = {
    "taskId": "t",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
}


def begun(revision: str, **params: Any) -> tuple[Request, Result]:
    who = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "there", "version": "0"}}
    return Request(0, "initialize", who | params), Result(0, {"protocolVersion": revision} | HERE)


@asynccontextmanager
async def watching(found: list[str]) -> AsyncIterator[tuple[WatchedChannel, MemoryChannel]]:
    near, far = channel_pair()
    async with near, far:
        yield WatchedChannel(near, found), far


async def heard(found: list[str], asked: Request, *said: Message, revision: str = "2025-11-25", **more: Any) -> None:
    """A server that is initialized and asked, and what it says then."""
    async with watching(found) as (server, client):
        first, answer = begun(revision, **more)
        for request, replies in ((first, [answer]), (asked, said)):
            await client.send(Envelope((request,)))
            await server.receive()
            for reply in replies:
                await server.send(Envelope((reply,)))


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("tools/call", {"content": "x"}),
        ("tools/call", []),
        ("tools/call", {"content": [], "resultType": "complete"}),
        ("tools/list", {"tools": [{"name": "x"}]}),
        ("resources/read", {"contents": [{"uri": "a:b"}]}),
        ("server/discover", {}),
    ],
)
async def test_a_result_that_is_not_as_the_revision_has_it_is_found(method: str, value: Any) -> None:
    found: list[str] = []
    await heard(found, Request(1, method, {}), Result(1, value))
    assert len(found) == 1


@pytest.mark.parametrize("kind", ["audio", "resource_link"])
async def test_content_of_a_later_revision_is_found(kind: str) -> None:
    block = {"audio": {"data": "", "mimeType": "a/b"}, "resource_link": {"uri": "a:b", "name": "x"}}[kind]
    for revision, count in (("2024-11-05", 1), ("2025-06-18", 0)):
        found: list[str] = []
        result = Result(1, {"content": [{"type": kind, **block}]})
        await heard(found, Request(1, "tools/call", {"name": "x"}), result, revision=revision)
        assert len(found) == count


async def test_a_handshake_stays_one_whatever_its_meta_says() -> None:
    found: list[str] = []
    changed = Notification("notifications/tools/list_changed")
    await heard(found, Request(1, "ping"), Result(1, {}), changed, _meta=META)
    assert found == []


async def test_a_failure_and_what_is_right_are_none() -> None:
    found: list[str] = []
    await heard(found, Request(1, "no/such", {}), Failure(1, -32601, "no"), Failure(None, -32700, "what?"))
    await heard(found, Request(1, "tools/list", {"_meta": META}), Failure(1, -32602, "no"))
    assert found == []


@pytest.mark.parametrize(
    ("method", "value", "count"),
    [
        ("tools/call", {"resultType": "task", **TASK, "ttlMs": None}, 0),
        ("tools/call", {"resultType": "task", **TASK}, 1),
        ("prompts/get", {"resultType": "task", **TASK, "ttlMs": None}, 1),
        ("tasks/get", {"resultType": "complete", **TASK, "ttlMs": None}, 0),
        ("tasks/get", {"resultType": "complete"}, 1),
        ("tools/list", {"resultType": "complete", "tools": []}, 1),
        ("tools/list", {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}, 0),
    ],
)
def test_results_of_the_stateless_era(method: str, value: Any, count: int) -> None:
    asked = Request(1, method, {"_meta": META})
    assert len(faults("server", "2026-07-28", Result(1, value), asked)) == count


@pytest.mark.parametrize("streams", [False, True])
async def test_what_an_app_answers_without_a_session_is_seen(streams: bool) -> None:
    found: list[str] = []
    answer = encode(Result(1, {"resultType": "complete", "tools": "none"}))
    log = encode(Notification("notifications/message", {"level": "loud", "data": 1}))
    body = b": hello\n\ndata: " + log + b"\r\n\r\ndata: " + answer + b"\n\ndata: {" if streams else answer

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": body})

    async def receive() -> Any:
        return {"body": encode(Request(1, "tools/list", {"_meta": META}))}

    async def send(event: Any) -> None: ...

    for headers, count in (([], 0), ([(b"mcp-protocol-version", b"2026-07-28")], 2 if streams else 1)):
        await watched_app(app, found)({"type": "http", "headers": headers}, receive, send)
        assert len(found) == count
