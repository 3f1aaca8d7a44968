"""A server over HTTP in the stateless era: each POST for itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from agent.mcp.envelope import Channel, Envelope
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.routing import CAPABILITIES_KEY, REVISION_KEY
from agent.mcp.session import McpError, Session, open_session
from agent.mcp.transports import http_stateless
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_server import asgi_app
from agent.mcp.transports.http_stateless import PostChannel
from tests.mcp.bridge import bridge

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"
META = {REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


class Handmade:
    """A server of the stateless era that does what the method's name says."""

    def __init__(self) -> None:
        self.contexts: list[Mapping[str, Any]] = []
        self.running, self.stopped = anyio.Event(), anyio.Event()

    async def serve(self, channel: Channel) -> None:
        handler = Handling(self)
        async with open_session(channel, handler, refuses_garbage=True) as session:
            handler.session = session
            await session.closed.wait()


class Handling:
    session: Session

    def __init__(self, server: Handmade) -> None:
        self._server = server

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        self._server.contexts.append(context)
        match request.method:
            case "say/more":
                await self.session.notify("notifications/progress", {"progress": 1}, about=request.id)
                await self.session.notify("notifications/elsewhere")
            case "wait":
                self._server.running.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    self._server.stopped.set()
            case "ask":
                await self.session.request("sampling/createMessage", {}, about=request.id)
            case "fail":
                raise McpError((request.params or {})["code"], "as told", {"x": 1})
            case "break":
                return object()
        return {"method": request.method}

    def on_notification(self, notification: Notification) -> None: ...
    def on_trouble(self, trouble: object) -> None: ...


@asynccontextmanager
async def serving(server: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with bridge(asgi_app(server)) as network, httpx2.AsyncClient(transport=network) as web:
        yield web


async def post(web: httpx2.AsyncClient, method: str, **params: Any) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": META, **params}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    return await web.post(URL, json=body, headers=headers)


async def test_a_request_needs_no_session() -> None:
    server = Handmade()
    async with serving(server) as web:
        answer = await post(web, "tools/list")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    assert answer.json() == {"jsonrpc": "2.0", "id": "a", "result": {"method": "tools/list"}}
    assert server.contexts[0]["headers"]["mcp-method"] == "tools/list"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (17, 200),
    ],
)
async def test_an_error_has_the_status_that_goes_with_it(code: int, status: int) -> None:
    async with serving(Handmade()) as web:
        answer = await post(web, "fail", code=code)
    assert answer.status_code == status
    assert answer.json() == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": code, "message": "as told", "data": {"x": 1}},
    }


async def test_what_is_said_about_a_request_comes_before_its_answer_and_nothing_else() -> None:
    async with serving(Handmade()) as web:
        answer = await post(web, "say/more")
    assert answer.headers["content-type"] == "text/event-stream"
    first, second, rest = answer.text.split("\n\n")
    assert json.loads(first.removeprefix("data: ")) == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progress": 1},
    }
    assert json.loads(second.removeprefix("data: "))["result"] == {"method": "say/more"}
    assert rest == ""


async def test_who_goes_away_withdraws_the_request() -> None:
    server = Handmade()
    async with serving(server) as web, anyio.create_task_group() as tasks:
        tasks.start_soon(post, web, "wait")
        await server.running.wait()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(5):
        await server.stopped.wait()


async def test_who_leaves_a_silent_stream_withdraws_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stateless, "COMMIT_SECONDS", 0.01)
    server = Handmade()
    request = Request(7, "wait", {"_meta": META})
    async with bridge(asgi_app(server)) as network, http(URL, transport=network) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((request,)))
            await server.running.wait()
            await channel.send(Envelope((Notification("notifications/cancelled", {"requestId": 7}),)))
            await server.stopped.wait()


async def test_a_client_of_this_era_is_asked_nothing() -> None:
    async with serving(Handmade()) as web:
        answer = await post(web, "ask")
    assert answer.json()["error"]["code"] == -32601


async def test_an_answer_json_has_no_words_for_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Handmade()) as web:
        answer = await post(web, "break")
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32603)


async def test_a_server_that_cannot_serve_fails_that_request_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def serve(self, channel: Channel) -> None:
            raise OSError("no database")

    async with serving(Broken()) as web:
        for _ in range(2):
            answer = await post(web, "tools/list")
            assert (answer.status_code, answer.json()["error"]["message"]) == (500, "Internal error")
    assert "no database" in caplog.text


async def test_a_notification_is_received_and_means_nothing() -> None:
    async with serving(Handmade()) as web:
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}
        headers = {"accept": "*/*", "mcp-protocol-version": "2026-07-28"}
        answer = await web.post(URL, json=told, headers=headers)
    assert (answer.status_code, answer.content) == (202, b"")


async def test_a_channel_of_one_request_ends_when_it_is_closed() -> None:
    channel = PostChannel(Request(1, "x"), {})
    assert await channel.receive() == Envelope((Request(1, "x"),))
    async with anyio.create_task_group() as tasks:

        async def hear() -> None:
            with pytest.raises(anyio.EndOfStream):
                await channel.receive()

        tasks.start_soon(hear)
        await anyio.wait_all_tasks_blocked()
        await channel.send_eof()
        assert channel.stream.ended
        await channel.aclose()


async def test_both_ends_of_ours_understand_each_other() -> None:
    request = Request(1, "say/more", {"_meta": META})
    async with bridge(asgi_app(Handmade())) as network, http(URL, transport=network) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((request,)))
            items = [await channel.receive() for _ in range(2)]
            await channel.send(Envelope((Request(2, "fail", {"_meta": META, "code": -32022}),)))
            items.append(await channel.receive())
    assert items == [
        Envelope((Notification("notifications/progress", {"progress": 1}),), about=1),
        Envelope((Result(1, {"method": "say/more"}),), about=1),
        Envelope((Failure(2, -32022, "as told", {"x": 1}),), about=2),
    ]
