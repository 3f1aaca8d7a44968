"""A server over HTTP in the stateless era: each POST for itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.protocol import CAPABILITIES_KEY, REVISION_KEY
from agent.mcp.server.reentry import Tell
from agent.mcp.server.server import Server
from agent.mcp.sse import KEEPALIVE
from agent.mcp.transports import http_stateless
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_server import asgi_app
from tests.mcp.bridge import bridge

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"
META = {REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


class Handmade(Server):
    """A server of the stateless era that does what the method's name says."""

    def __init__(self) -> None:
        super().__init__("handmade")
        self.contexts: list[Mapping[str, Any]] = []
        self.started, self.stopped = anyio.Event(), anyio.Event()

    async def reply(self, request: Request, context: Mapping[str, Any], tell: Tell) -> Result | Failure:
        self.contexts.append(context)
        value: Any = {"method": request.method}
        match request.method:
            case "say/more":
                await tell("notifications/progress", {"progress": 1})
            case "wait" | "wait/on":
                self.started.set()
                try:
                    if request.method == "wait/on":
                        await tell("notifications/progress", {"progress": 1})
                    await anyio.sleep_forever()
                finally:
                    self.stopped.set()
            case "fail":
                return Failure(request.id, (request.params or {})["code"], "as told", {"x": 1})
            case "break":
                value = object()
        return Result(request.id, value)


@asynccontextmanager
async def serving(server: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with bridge(asgi_app(server)) as network, httpx2.AsyncClient(transport=network) as web:
        yield web


def said(method: str, **params: Any) -> dict[str, Any]:
    """Body and headers of a request."""
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": META, **params}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    return {"json": body, "headers": headers}


async def post(web: httpx2.AsyncClient, method: str, **params: Any) -> httpx2.Response:
    return await web.post(URL, **said(method, **params))


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
        await server.started.wait()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(5):
        await server.stopped.wait()


async def test_who_leaves_a_silent_stream_withdraws_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stateless, "KEEPALIVE_SECONDS", 0.01)
    server = Handmade()
    request = Request(7, "wait", {"_meta": META})
    async with bridge(asgi_app(server)) as network, http(URL, transport=network) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((request,)))
            await server.started.wait()
            await channel.send(Envelope((Notification("notifications/cancelled", {"requestId": 7}),)))
            await server.stopped.wait()


async def test_an_answer_that_takes_long_becomes_a_stream_with_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stateless, "KEEPALIVE_SECONDS", 0.01)
    async with serving(Handmade()) as web, web.stream("POST", URL, **said("wait")) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        with anyio.fail_after(5):
            assert (await anext(answer.aiter_bytes())).startswith(KEEPALIVE)


@pytest.mark.parametrize("fault", ["stalls", "raises"])
async def test_who_does_not_take_what_is_said_has_gone_away(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def receive() -> Any:
        body = asked.pop() if asked else await anyio.sleep_forever()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(part: Any) -> None:
        if fault == "raises":
            raise OSError("the connection is closed")
        await anyio.sleep_forever()

    monkeypatch.setattr(http_stateless, "STALL_SECONDS", 0.01)
    server, request = Handmade(), httpx2.Request("POST", URL, **said("wait/on"))
    asked = [request.content]
    app = asgi_app(server)
    async with app.running():
        with anyio.fail_after(5):
            await app({"type": "http", "method": "POST", "path": "/mcp", "headers": request.headers.raw}, receive, send)
            await server.stopped.wait()


async def test_an_answer_json_has_no_words_for_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Handmade()) as web:
        answer = await post(web, "break")
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32603)


async def test_a_notification_is_received_and_means_nothing() -> None:
    async with serving(Handmade()) as web:
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}
        headers = {"accept": "*/*", "mcp-protocol-version": "2026-07-28"}
        answer = await web.post(URL, json=told, headers=headers)
    assert (answer.status_code, answer.content) == (202, b"")


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
