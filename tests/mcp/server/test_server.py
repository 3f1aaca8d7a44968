"""How a server begins, and what holds for all its requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from agent.mcp import Context, Server
from agent.mcp.jsonrpc import Failure, Request
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from tests.mcp.raw_client import RawClient, raw_client, text_of

pytestmark = pytest.mark.anyio


def a_server(**settings: Any) -> Server:
    server = Server("shop", version="2.1", **settings)

    @server.tool
    async def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    return server


@pytest.mark.parametrize(
    ("asked", "answered"),
    [*((revision, revision) for revision in HANDSHAKE_REVISIONS), ("banana", "2025-11-25"), (7, "2025-11-25")],
)
async def test_a_known_revision_is_echoed_and_an_unknown_one_gets_the_newest(asked: Any, answered: str) -> None:
    async with raw_client(a_server(title="Shop", instructions="Add first."), None) as client:
        info = {"name": "raw", "version": "0"}
        result = await client.ask("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": info})
    titled = {"title": "Shop"} if answered >= "2025-06-18" else {}
    assert result == {
        "protocolVersion": answered,
        "capabilities": {"logging": {}, "tools": {"listChanged": True}},
        "serverInfo": {"name": "shop", **titled, "version": "2.1"},
        "instructions": "Add first.",
    }


async def test_what_is_registered_is_what_is_declared() -> None:
    server = Server("all")
    server.tool(nothing)
    server.prompt(nothing)
    server.resource("a://{x}")(lambda_named)
    server.completion("a://{x}", "x")(lambda_named)
    async with raw_client(server, None) as client:
        result = await client.ask("initialize", {"protocolVersion": "2025-11-25"})
        old = await client.ask("initialize", {"protocolVersion": "2024-11-05"})
    everything = {
        "logging": {},
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "completions": {},
    }
    assert result["capabilities"] == everything
    del everything["completions"]  # which the first revision has no word for
    assert old["capabilities"] == everything


def nothing() -> None:
    """Nothing."""


def lambda_named(x: str) -> list[str]:
    return [x]


@pytest.mark.parametrize(
    "method",
    [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "no/such",
        "server/discover",
        "",
    ],
)
async def test_what_is_not_offered_is_no_method(method: str) -> None:
    async with raw_client(Server("empty")) as client:
        refusal = await client.refusal(method, {"uri": "a://b"})
        assert refusal.code == -32601
        assert await client.ask("ping") == {}


@pytest.mark.parametrize("id", ["1", "007", "", 0, -5, 2**53])
async def test_an_id_comes_back_as_it_was(id: Any) -> None:
    async with raw_client(a_server()) as client:
        outcome = await client.outcome("ping", {}, id)
        assert outcome.id == id
        assert type(outcome.id) is type(id)


async def test_lists_come_in_pages() -> None:
    server = Server("long", page_size=40)
    for number in range(101):
        server.tool(name=f"tool{number}")(nothing)
        server.prompt(name=f"prompt{number}")(nothing)
        server.resource(f"a://{number}", name=f"resource{number}")(nothing)
        server.resource(f"b{number}://{{x}}", name=f"template{number}")(lambda_named)
    lists = {
        "tools/list": "tools",
        "prompts/list": "prompts",
        "resources/list": "resources",
        "resources/templates/list": "resourceTemplates",
    }
    async with raw_client(server) as client:
        for method, key in lists.items():
            names, sizes = await pages(client, method, key)
            assert len(set(names)) == 101
            assert sizes == [40, 40, 21]


async def pages(client: RawClient, method: str, key: str) -> tuple[list[str], list[int]]:
    names: list[str] = []
    sizes: list[int] = []
    params: dict[str, Any] | None = None
    while True:
        page = await client.ask(method, params)
        names += [entry["name"] for entry in page[key]]
        sizes.append(len(page[key]))
        if "nextCursor" not in page:
            return names, sizes
        params = {"cursor": page["nextCursor"]}


@pytest.mark.parametrize("cursor", ["", "x", "dG9vbHM6MA==", "dG9vbHM6OTk=", "cHJvbXB0czox", "dG9vbHM6LTE=", 7, {}])
async def test_a_cursor_that_is_none_of_ours_is_refused(cursor: Any) -> None:
    async with raw_client(a_server(page_size=1)) as client:
        assert (await client.refusal("tools/list", {"cursor": cursor})).code == -32602


async def test_a_null_cursor_is_none() -> None:
    async with raw_client(a_server()) as client:
        assert len((await client.ask("tools/list", {"cursor": None}))["tools"]) == 1


@dataclass
class Counted:
    entered: int = 0
    left: int = 0


async def test_a_lifespan_is_entered_for_a_connection_and_left_after_it() -> None:
    counted = Counted()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        counted.entered += 1
        yield f"the till of {server.name}"
        counted.left += 1

    server = Server("shop", lifespan=lifespan)

    @server.tool
    async def till(ctx: Context) -> str:
        return str(ctx.lifespan)

    async with raw_client(server) as client:
        assert text_of(await client.call("till")) == "the till of shop"
        assert counted == Counted(1, 0)
    assert counted == Counted(1, 1)


async def test_the_same_id_twice_at_once_is_refused() -> None:
    server = Server("slow")

    @server.tool
    async def wait() -> None:
        await anyio.sleep_forever()

    async with raw_client(server) as client:
        await client.say(Request(1, "tools/call", {"name": "wait"}))
        await client.say(Request(1, "tools/call", {"name": "wait"}))
        reply = await client.answer_to(1)
    assert isinstance(reply, Failure)
    assert reply.code == -32600
