"""What a server tells of its own accord: that a list changed, that a resource did."""

from __future__ import annotations

from typing import Any

import pytest

from agent.mcp import Server
from agent.mcp.jsonrpc import Notification
from tests.mcp.raw_client import RawClient, raw_client

pytestmark = pytest.mark.anyio


def a_garden() -> Server:
    server = Server("garden")

    @server.resource("bed://roses")
    async def roses() -> str:
        return "red"

    @server.resource("bed://{name}/{plant}")
    async def plant(name: str, plant: str) -> str:
        return plant

    @server.prompt
    async def ask() -> str:
        return "?"

    @server.tool
    async def sow() -> None:
        server.tool(name="reap")(roses)
        server.prompt(name="tell")(ask)
        server.resource("bed://lilies")(ask)
        server.remove_resource("bed://roses")

    @server.tool
    async def water() -> None:
        for uri in ("bed://roses", "bed://roses/one", "bed://rosesandmore", "bed://roses"):
            server.notify_resource_updated(uri)

    @server.tool
    def water_from_a_thread() -> None:
        server.notify_resource_updated("bed://roses")

    return server


async def changes(client: RawClient, number: int) -> list[tuple[str, Any]]:
    """The next notifications, after which an answer proves that no more were sent."""
    while sum(isinstance(message, Notification) for message in client.heard) < number:
        await client.hear()
    await client.ask("ping")
    return [(message.method, message.params) for message in client.heard if isinstance(message, Notification)]


@pytest.mark.parametrize("says_so", [True, False])
async def test_nothing_is_announced_before_the_client_is_initialized(says_so: bool) -> None:
    garden = a_garden()
    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    async with raw_client(garden, None) as client:
        await client.ask("initialize", who)
        garden.remove_prompt("ask")
        assert await changes(client, 0) == []
        if says_so:
            await client.tell("notifications/initialized")
            await client.ask("ping")
        else:
            await client.ask("tools/list")
        garden.remove_tool("sow")
        assert await changes(client, 1) == [("notifications/tools/list_changed", None)]


async def test_what_is_registered_or_removed_later_is_announced_once_for_each_list() -> None:
    async with raw_client(a_garden()) as client:
        await client.call("sow")
        assert await changes(client, 3) == [
            ("notifications/tools/list_changed", None),
            ("notifications/prompts/list_changed", None),
            ("notifications/resources/list_changed", None),
        ]
        assert [tool["name"] for tool in (await client.ask("tools/list"))["tools"]] == [
            "sow",
            "water",
            "water_from_a_thread",
            "reap",
        ]
        assert (await client.refusal("resources/read", {"uri": "bed://roses"})).code == -32002


async def test_only_what_was_declared_is_announced() -> None:
    server = Server("growing")

    @server.tool
    async def grow() -> None:
        server.prompt(name="new")(grow)
        server.remove_tool("grow")

    async with raw_client(server) as client:
        await client.call("grow")
        assert await changes(client, 1) == [("notifications/tools/list_changed", None)]


async def test_nothing_is_announced_before_the_handshake() -> None:
    server = a_garden()
    async with raw_client(server, None) as client:
        await client.ask("tools/call", {"name": "sow"})
        await client.ask("ping")
        assert client.told("notifications/tools/list_changed") == []


async def test_a_subscriber_hears_of_its_resource_and_what_is_below_it() -> None:
    async with raw_client(a_garden()) as client:
        assert await client.ask("resources/subscribe", {"uri": "bed://roses"}) == {}
        await client.call("water")
        updated = "notifications/resources/updated"
        assert await changes(client, 2) == [(updated, {"uri": "bed://roses"}), (updated, {"uri": "bed://roses/one"})]
        assert await client.ask("resources/unsubscribe", {"uri": "bed://roses"}) == {}
        client.heard.clear()
        await client.call("water")
        assert await changes(client, 0) == []


async def test_a_change_may_come_from_a_thread() -> None:
    async with raw_client(a_garden()) as client:
        await client.ask("resources/subscribe", {"uri": "bed://roses"})
        await client.call("water_from_a_thread")
        assert await changes(client, 1) == [("notifications/resources/updated", {"uri": "bed://roses"})]


@pytest.mark.parametrize(
    ("params", "code"), [({"uri": "bed://weeds"}, -32002), ({"uri": 7}, -32602), ({}, -32602), (None, -32602)]
)
async def test_what_is_no_resource_cannot_be_subscribed_to(params: Any, code: int) -> None:
    async with raw_client(a_garden()) as client:
        assert (await client.refusal("resources/subscribe", params)).code == code


async def test_unsubscribing_from_what_one_never_subscribed_to_is_fine() -> None:
    async with raw_client(a_garden()) as client:
        assert await client.ask("resources/unsubscribe", {"uri": "bed://roses"}) == {}


async def test_every_client_is_told() -> None:
    server = a_garden()
    async with raw_client(server) as one, raw_client(server) as two:
        await one.ask("resources/subscribe", {"uri": "bed://roses"})
        await two.call("sow")
        told = [await changes(client, 3) for client in (one, two)]
    assert told[0] == told[1]


async def test_a_server_without_clients_may_change_all_the_same() -> None:
    server = a_garden()
    server.notify_resource_updated("bed://roses")
    server.remove_prompt("ask")
    with pytest.raises(KeyError):
        server.remove_prompt("ask")
    server.remove_resource("bed://{name}/{plant}")
    async with raw_client(server) as client:
        assert (await client.refusal("prompts/list")).code == -32601
        assert await client.ask("resources/templates/list") == {"resourceTemplates": []}
