"""The server's end of HTTP+SSE, with our client at the other, and with none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from agent.mcp.client.client import Client
from agent.mcp.envelope import Closed, ConnectionLost, Envelope
from agent.mcp.jsonrpc import Notification
from agent.mcp.server.context import Context
from agent.mcp.server.server import Server
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_server import HttpApp, asgi_app
from agent.mcp.transports.sse_server import SseSession
from tests.mcp.bridge import bridge
from tests.mcp.sse_channel import sse

pytestmark = pytest.mark.anyio

HOME = "http://127.0.0.1:8000"


def app(**options: Any) -> HttpApp:
    server = Server("old")

    @server.tool
    async def count(ctx: Context, to: int) -> int:
        for done in range(to):
            await ctx.progress(done + 1, to)
        return to

    return asgi_app(server, sse=True, **options)


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with bridge(app(**options)) as network, httpx2.AsyncClient(transport=network, base_url=HOME) as web:
        yield web


async def test_our_client_finds_out_that_it_is_spoken() -> None:
    done: list[float] = []
    async with bridge(app()) as network, Client(http(f"{HOME}/sse", transport=network)) as client:
        with anyio.fail_after(5):
            result = await client.call_tool("count", {"to": 3}, progress=lambda at, total, text: done.append(at))
    assert result.structured_content == {"result": 3}
    assert done == [1, 2, 3]


async def test_the_current_transport_is_there_beside_it() -> None:
    async with bridge(app()) as network, Client(http(f"{HOME}/mcp", transport=network)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["count"]


async def test_the_session_ends_with_its_stream_and_the_other_way_round() -> None:
    old = app()
    async with bridge(old) as network:
        async with sse(f"{HOME}/sse", transport=network) as channel:
            old.end()
            with anyio.fail_after(5), pytest.raises(ConnectionLost):
                await channel.receive()
        posted = str(network.seen[0].url.join("/messages?session_id=x"))
        async with httpx2.AsyncClient(transport=network) as web:
            assert (await web.post(posted, json={})).status_code == 404


@pytest.mark.parametrize(
    ("content", "type", "status"),
    [
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', "application/json", 202),
        (b"{", "application/json", 400),
        (b"{}", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b" " * 200, "application/json", 413),
    ],
)
async def test_what_is_posted_is_looked_at(content: bytes, type: str, status: int) -> None:
    async with serving(max_body=100) as web, web.stream("GET", "/sse") as response:
        event = await anext(response.aiter_text())
        assert event.startswith("event: endpoint\ndata: /messages?session_id=")
        answer = await web.post(event.split("data: ")[1].strip(), content=content, headers={"content-type": type})
    assert answer.status_code == status


async def test_a_session_that_is_none_is_told_so() -> None:
    async with serving() as web:
        for url in ("/messages", "/messages?session_id=bogus"):
            assert (await web.post(url, json={})).status_code == 404


async def test_only_so_many_sessions_are_served() -> None:
    async with serving(max_sessions=0) as web:
        assert (await web.get("/sse")).status_code == 503


async def test_a_page_that_found_us_is_turned_away() -> None:
    async with serving() as web:
        assert (await web.get("/sse", headers={"origin": "https://evil.example"})).status_code == 403


async def test_a_session_has_no_way_back_to_a_stream() -> None:
    session = SseSession()
    await session.send(Closed(1))
    assert session.stream.last == 0
    await session.send(Envelope((Notification("x"),)))
    await session.send_eof()
    assert session.stream.ended
    await session.aclose()
