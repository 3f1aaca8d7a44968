"""Servers at a URL: seen, called, asked by and told of like any other, and their faults as sentences."""

from __future__ import annotations

from typing import Any

import pytest

from agent import __version__
from agent.chat.events import Noticed, ServerChanged
from agent.chat.questions import Answer, FillForm
from agent.host.errors import HostError
from agent.host.transports import is_readable_on_the_way, reach
from agent.mcp import Server
from agent.mcp.client.deprecations import HTTP_SSE
from agent.mcp.transports.http_server import asgi_app
from tests.host.http_peers import App, answering, official_app, served, serving
from tests.host.scene import Scene, configure, scene

pytestmark = pytest.mark.anyio


def our_app() -> App:
    server = Server("ours")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.resource("text://hello")
    async def hello() -> str:
        return "Hello!"

    return asgi_app(server, sse=True)


def remote(url: str, **table: Any) -> Any:
    return scene(configure({"far": {"url": url, **table}}), open_transport=reach, person=agreeable)


def agreeable(question: object) -> Answer | None:
    return Answer("accept", {"place": "window"}) if isinstance(question, FillForm) else Answer("accept")


async def add(view: Scene) -> Any:
    return (await view.host.call_tool("add", {"a": 3, "b": 5})).structured_content


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_our_own_server_over_either_transport(path: str) -> None:
    async with served(our_app()) as address, remote(address + path) as view:
        assert await add(view) == {"result": 8}
        [server] = view.host.servers()
        shown = (server.name, server.state, server.detail, server.transport)
        assert shown == ("far", "ready", "1 tool, 1 resource", "sse" if path == "/sse" else "http")
    assert view.events(Noticed) == ([Noticed("far", "info", HTTP_SSE)] if path == "/sse" else [])


@pytest.mark.parametrize(
    ("headers", "agent"), [({}, f"mcp-chat/{__version__}"), ({"User-Agent": "something/1"}, "something/1")]
)
async def test_a_server_is_told_who_we_are(headers: dict[str, str], agent: str) -> None:
    app, seen = our_app(), set[str]()

    async def listening(scope: Any, receive: Any, send: Any) -> None:
        seen.update(value.decode() for name, value in scope.get("headers", ()) if name == b"user-agent")
        await app(scope, receive, send)

    async with served(listening) as address, remote(f"{address}/mcp", headers=headers) as view:
        assert await add(view) == {"result": 8}
    assert seen == {agent}


@pytest.mark.parametrize("sse", [False, True])
async def test_the_official_server_asks_and_tells_in_the_middle_of_a_call(sse: bool) -> None:
    told: list[tuple[float, float | None, str]] = []
    path = "/sse" if sse else "/mcp"
    async with served(official_app(sse=sse)) as address, remote(address + path, protocol="2025-11-25") as view:
        result = await view.host.call_tool("add", {"a": 3, "b": 5}, None, lambda *note: told.append(note))
        assert result.structured_content == {"result": 8}
        assert told == [(1, 2, "adding")]
        booked = await view.host.call_tool("book")
        assert booked.structured_content == {"result": "accept: window"}
        reading = await view.host.read("text://hello")
        assert [contents.text for contents in reading.contents] == ["Hello!"]


async def test_the_official_server_in_the_newest_revision_it_speaks() -> None:
    async with served(official_app()) as address, remote(f"{address}/mcp") as view:
        assert [server.revision for server in view.host.servers()] == ["2026-07-28"]
        assert await add(view) == {"result": 8}


async def test_headers_go_with_every_request() -> None:
    seen: list[Any] = []
    app = our_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]).get(b"x-key"))
        await app(scope, receive, send)

    async with served(watched) as address, remote(f"{address}/mcp", headers={"X-Key": "k-1"}) as view:
        await add(view)
    assert set(seen) == {b"k-1"}


# Faults


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        (answering(200, b"<html><title>Login</title></html>", content_type="text/html"),
         "The server at {url}: expected JSON or SSE, got text/html (200): Login."),
        (answering(401, b"", www_authenticate="Bearer"),
         "Signing in to far failed: it does not say where. If it gave you a token, put that into its headers."),
        (answering(403, b"no\x1b[2J entry"), "The server at {url} refuses access (403): no entry."),
        (answering(404, b"nothing"), "The server at {url} has no MCP endpoint there (404); check the URL."),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_told_in_a_sentence(app: App, sentence: str) -> None:
    async with served(app) as address, remote(f"{address}/mcp?token=hush-hush") as view:
        said = sentence.format(url=f"{address}/mcp?token=…")
        [server] = view.host.servers()
        assert (server.state, server.detail, server.transport) == ("failed", said, "http")
        assert view.events(ServerChanged)[-1] == ServerChanged("far", "failed", said)
        with pytest.raises(HostError) as caught:
            await view.host.read("text://hello", "far")
        assert str(caught.value) == f"The server far is not connected: {said}"


async def test_nobody_there_is_told_and_others_go_on() -> None:
    async with served(our_app()) as address:
        config = configure({"far": {"url": f"{address}/mcp"}, "gone": {"url": "http://127.0.0.1:9/mcp"}})
        async with scene(config, open_transport=reach) as view:
            assert await add(view) == {"result": 8}
            assert {server.name: server.state for server in view.host.servers()} == {"far": "ready", "gone": "failed"}
            [gone] = [server.detail for server in view.host.servers() if server.name == "gone"]
            assert gone == "The server at http://127.0.0.1:9/mcp refused the connection; is it running?"


async def test_a_server_that_went_away_is_told_by_its_name() -> None:
    async with serving(our_app()) as peer, remote(f"{peer.address}/mcp") as view:
        assert await add(view) == {"result": 8}
        await peer.stop()
        with pytest.raises(HostError) as caught:
            await add(view)
        assert str(caught.value) == f"far: The server at {peer.address}/mcp refused the connection; is it running?"


# Who can listen


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("http://mcp.example.com/mcp", True),
        ("HTTP://mcp.example.com/mcp", True),
        ("http://10.0.0.1/mcp", True),
        ("https://mcp.example.com/mcp", False),
        ("http://localhost:8000/mcp", False),
        ("http://127.0.0.1/mcp", False),
        ("http://[::1]:1/mcp", False),
        (None, False),
    ],
)
async def test_only_plain_http_to_another_machine_can_be_read_on_the_way(url: str | None, readable: bool) -> None:
    assert is_readable_on_the_way(url) is readable


async def test_plain_http_to_another_machine_is_warned_of() -> None:
    async with served(our_app()) as address:
        config = configure({"far": {"url": "http://mcp.example.com/mcp"}})
        local = configure({"far": {"url": f"{address}/mcp"}}).servers["far"]
        async with scene(config, open_transport=lambda table: reach(local)) as view:
            await view.until(lambda: view.events(Noticed))
            assert view.events(Noticed) == [
                Noticed(
                    "far",
                    "warning",
                    "Its address begins with http://: everybody on the way can read, and change, what is said. "
                    "Use https://.",
                )
            ]
