"""A whole server over HTTP: what outlives a request, several workers, and clients that hang up."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from typing import Any

import anyio
import httpx2
import pytest

from agent.mcp import Client, Context, MemoryTaskStore, Server, http
from agent.mcp.transports.http_server import HttpApp
from tests.mcp.bridge import bridge
from tests.mcp.stateless_caller import CAPABILITIES, REVISION, SUBSCRIPTION
from tests.mcp.transports.test_http_server import Stream, begin, call, streaming

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"
STATELESS = {"mcp-protocol-version": "2026-07-28"}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Shop:
    def __init__(self, **options: Any) -> None:
        self.server = Server("here", **options)
        self.go_on = anyio.Event()
        self.server.tool(self.greet)
        self.server.tool(self.hang_up)
        self.server.tool(task="optional")(self.work)
        self.server.resource("here://door")(self.door)

    async def greet(self, ctx: Context) -> str:
        """Greet the person."""
        first = await ctx.elicit("First name?", FORM)
        last = await ctx.elicit("Last name?", FORM)
        return f"{first.content and first.content['name']} {last.content and last.content['name']}"

    async def hang_up(self, ctx: Context) -> str:
        """Answer later."""
        await ctx.release()
        await self.go_on.wait()
        return "later"

    async def work(self, ctx: Context) -> str:
        """Work until told to stop."""
        await ctx.progress(1, 2, "half")
        await self.go_on.wait()
        return "worked"

    async def door(self) -> str:
        """Open or closed."""
        return "closed"


async def person(method: str, params: dict[str, Any]) -> Any:
    return {"action": "accept", "content": {"name": params["message"][0]}}


def listening(id: str, **wanted: Any) -> dict[str, Any]:
    meta = {REVISION: "2026-07-28", CAPABILITIES: {}}
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": meta},
    }


class Workers:
    """Several apps behind one address: each request is for the next of them."""

    def __init__(self, *apps: HttpApp) -> None:
        self._apps, self._next = apps, cycle(apps)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await next(self._next)(scope, receive, send)
            return
        async with AsyncExitStack() as running:
            for app in self._apps:
                await running.enter_async_context(app.running())
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def visited(app: Any, **options: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(20):
        async with bridge(app) as network, Client(http(URL, transport=network), **options) as client:
            yield client


async def test_a_task_outlives_the_request_that_began_it() -> None:
    shop = Shop()
    told: list[str] = []

    def note(done: float, total: float | None, words: str) -> None:
        told.append(words)
        if words:
            shop.go_on.set()

    async with visited(shop.server.asgi()) as client:
        result = await client.call_tool("work", {}, progress=note)
    assert result.content[0].text == "worked"  # type: ignore[union-attr]
    assert told[-1] == "half"


async def test_workers_that_share_a_key_share_a_conversation() -> None:
    shops = [Shop(state_key="shared") for _ in range(3)]
    async with visited(Workers(*(shop.server.asgi() for shop in shops)), answer=person) as client:
        result = await client.call_tool("greet", {})
    assert result.content[0].text == "F L"  # type: ignore[union-attr]


async def test_workers_without_one_refuse_each_others_state() -> None:
    shops = [Shop() for _ in range(2)]
    async with visited(Workers(*(shop.server.asgi() for shop in shops)), answer=person) as client:
        with pytest.raises(Exception, match="requestState is not valid: it was not sealed here"):
            await client.call_tool("greet", {})


async def test_workers_that_share_a_store_know_each_others_tasks() -> None:
    store = MemoryTaskStore()
    shops = [Shop(task_store=store) for _ in range(2)]
    for shop in shops:
        shop.go_on.set()
    async with visited(Workers(*(shop.server.asgi() for shop in shops))) as client:
        assert (await client.call_tool("work", {})).content[0].text == "worked"  # type: ignore[union-attr]


async def test_a_stream_of_changes_ends_in_order_with_the_app() -> None:
    shop = Shop()
    app = shop.server.asgi()
    async with bridge(app) as network, httpx2.AsyncClient(transport=network) as web:
        headers = {**STATELESS, "mcp-method": "subscriptions/listen"}
        body = listening("l", resourceSubscriptions=["here://door"])
        async with streaming(web, "POST", headers, body) as stream:
            acknowledged = await stream.next()
            assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": ["here://door"]}
            shop.server.notify_resource_updated("here://door")
            changed = await stream.next()
            assert changed["params"] == {"uri": "here://door", "_meta": {SUBSCRIPTION: "l"}}
            app.end()
            end = await stream.next()
            assert (end["id"], end["result"]["resultType"], end["result"]["_meta"][SUBSCRIPTION]) == (
                "l",
                "complete",
                "l",
            )
            assert await stream.next() is None


async def test_a_client_that_is_let_go_comes_back_for_the_answer() -> None:
    shop = Shop()
    async with bridge(shop.server.asgi()) as network, httpx2.AsyncClient(transport=network) as web:
        session = await begin(web)
        async with streaming(web, "POST", session, call("hang_up")) as stream:
            assert await rest_of(stream) == []
            place = stream.reader.last_id
        shop.go_on.set()
        async with streaming(web, "GET", session | {"last-event-id": str(place)}) as stream:
            (answer,) = await rest_of(stream)
            assert answer["result"] == {"content": [{"type": "text", "text": "later"}]}


async def rest_of(stream: Stream) -> list[Any]:
    """The messages until the stream ends; an event without data marks a place."""
    with anyio.fail_after(5):
        chunks = [chunk async for chunk in stream._chunks]
    events = [event for chunk in chunks for event in stream.reader.feed(chunk)]
    return [json.loads(event.data) for event in events if event.data]  # type: ignore[union-attr]
