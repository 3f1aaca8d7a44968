"""What a whole server refuses in the stateless era, with the status that HTTP gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from agent.mcp import Context, Server
from agent.mcp.transports.http_server import asgi_app
from tests.mcp.bridge import bridge
from tests.mcp.stateless_caller import CAPABILITIES, REVISION

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
INVALID_STATE = {"reason": "invalid_request_state"}


def a_server() -> Server:
    server = Server("here")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Who?", {"type": "object", "properties": {}})).action

    server.prompt(name="greeting")(lambda: "Hello")
    server.resource("here://door", name="door")(lambda: "closed")
    return server


@asynccontextmanager
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with bridge(asgi_app(a_server())) as network, httpx2.AsyncClient(transport=network) as client:
        yield client


async def ask(client: httpx2.AsyncClient, method: str, **params: Any) -> httpx2.Response:
    meta = {REVISION: "2026-07-28", CAPABILITIES: {"elicitation": {}}}
    name = {"mcp-name": params[NAMED[method]]} if method in NAMED else {}
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params | {"_meta": meta}}
    return await client.post(URL, json=body, headers=HEADERS | {"mcp-method": method} | name)


@pytest.mark.parametrize(
    ("method", "params", "code", "data"),
    [
        ("tools/call", {"name": "nope"}, -32602, None),
        ("prompts/get", {"name": "nope"}, -32602, None),
        ("resources/read", {"uri": "here://none"}, -32602, {"uri": "here://none"}),
        ("tools/list", {"cursor": "nope"}, -32602, None),
        ("tools/call", {"name": "ask", "requestState": "nope"}, -32602, INVALID_STATE),
        ("no/such", {}, -32601, None),
        ("ping", {}, -32601, None),
        ("resources/subscribe", {"uri": "here://door"}, -32601, None),
    ],
)
async def test_what_does_not_exist_is_an_error_and_no_result(method: str, params: Any, code: int, data: Any) -> None:
    async with web() as client:
        answer = await ask(client, method, **params)
    error = answer.json()["error"]
    assert (answer.status_code, answer.json()["id"]) == ({-32602: 400, -32601: 404}[code], 7)
    assert (error["code"], error.get("data")) == (code, data)


async def test_state_that_was_changed_on_its_way_is_refused() -> None:
    async with web() as client:
        asked = (await ask(client, "tools/call", name="ask")).json()["result"]
        [key] = asked["inputRequests"]
        answers = {"inputResponses": {key: {"action": "decline"}}, "name": "ask"}
        refused = await ask(client, "tools/call", requestState=asked["requestState"] + "x", **answers)
        taken = await ask(client, "tools/call", requestState=asked["requestState"], **answers)
    assert (refused.status_code, refused.json()["error"]["data"]) == (400, INVALID_STATE)
    assert taken.json()["result"]["content"] == [{"type": "text", "text": "decline"}]


@pytest.mark.parametrize(("body", "code"), [(b"[]", -32600), (b"[{}]", -32600), (b"{}", -32600), (b"{", -32700)])
async def test_what_is_no_message_is_refused(body: bytes, code: int) -> None:
    async with web() as client:
        answer = await client.post(URL, content=body, headers=HEADERS | {"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_is_nothing_but_posts(method: str) -> None:
    async with web() as client:
        answer = await client.request(method, URL, headers=HEADERS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
