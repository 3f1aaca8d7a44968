from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agent.mcp.client.client import Client
from agent.mcp.client.subscriptions import missed, without_tag
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Failure, Message, Notification, Request
from agent.mcp.lifecycle import NotOffered
from tests.mcp.broadcaster import Broadcaster, tagged
from tests.mcp.foreign_server import connected, tool
from tests.mcp.modern_server import META, complete, meta

pytestmark = pytest.mark.anyio

LISTS = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {"listChanged": True}}
RESOURCES = {"resources": {"subscribe": True}}
TOOLS_CHANGED, UPDATED = "notifications/tools/list_changed", "notifications/resources/updated"


@asynccontextmanager
async def listening(server: Broadcaster) -> AsyncIterator[tuple[Client, list[Any]]]:
    heard: list[Any] = []
    begun = server.heard
    async with connected(server, on_notification=lambda *told: heard.append(told)) as client:
        capabilities = server.answers["server/discover"]["capabilities"]
        if any(settings.get("listChanged") for settings in capabilities.values()):
            await begun.wait()
        await client.ping()
        yield client, heard


async def test_changes_of_all_lists_that_can_change_are_asked_for_at_once() -> None:
    server = Broadcaster(LISTS)
    async with listening(server) as (client, heard):
        await server.say(tagged(2, TOOLS_CHANGED), tagged(2, "notifications/prompts/list_changed"))
        await client.ping()
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    assert server.asked("subscriptions/listen") == [{"notifications": wanted, "_meta": meta()}]
    assert heard == [(TOOLS_CHANGED, {}), ("notifications/prompts/list_changed", {})]


@pytest.mark.parametrize("capabilities", [{}, {"tools": {}}, {"tools": {"listChanged": False}, "resources": {}}])
async def test_a_server_whose_lists_cannot_change_is_not_asked(capabilities: Any) -> None:
    server = Broadcaster(capabilities)
    async with listening(server):
        pass
    assert server.listening == {}


async def test_a_resource_is_subscribed_to_until_nobody_wants_to_know() -> None:
    server = Broadcaster(RESOURCES)
    async with listening(server) as (client, heard):
        await client.subscribe("a:b")
        await client.subscribe("a:b")
        await client.subscribe("a:c")
        await server.say(tagged(3, UPDATED, uri="a:b/part"), tagged(4, UPDATED, uri="a:c"))
        await client.ping()
        await client.unsubscribe("a:b")
        await client.unsubscribe("a:b")
        await anyio.wait_all_tasks_blocked()
        await server.say(tagged(3, UPDATED, uri="a:b"), tagged(4, UPDATED, uri="a:c"))
        await client.ping()
    assert [asked["notifications"] for asked in server.asked("subscriptions/listen")] == [
        {"resourceSubscriptions": ["a:b"]},
        {"resourceSubscriptions": ["a:c"]},
    ]
    assert heard == [(UPDATED, {"uri": uri}) for uri in ("a:b/part", "a:c", "a:c")]
    assert server.asked("notifications/cancelled")[0]["requestId"] == 3


async def test_whoever_subscribes_at_the_same_time_waits_for_the_same_answer() -> None:
    outcomes: list[str] = []

    async def subscribe(client: Client) -> None:
        try:
            await client.subscribe("a:b")
            outcomes.append("subscribed")
        except NotOffered:
            outcomes.append("refused")

    for honoured, outcome in (({}, "refused"), (None, "subscribed")):
        outcomes.clear()
        server = Broadcaster(RESOURCES, honoured=honoured)
        async with listening(server) as (client, _), anyio.create_task_group() as tasks:
            tasks.start_soon(subscribe, client)
            tasks.start_soon(subscribe, client)
        assert outcomes == [outcome] * 2
        assert len(server.asked("subscriptions/listen")) == 1


async def test_whoever_leaves_takes_no_subscription_from_others() -> None:
    server = Broadcaster(RESOURCES)
    async with listening(server) as (client, heard):
        scope = anyio.CancelScope()

        async def subscribe_and_leave() -> None:
            with scope:
                await client.subscribe("a:b")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(subscribe_and_leave)
            tasks.start_soon(client.subscribe, "a:b")
            await server.heard.wait()
            scope.cancel()
        with anyio.CancelScope() as late:
            late.cancel()
            await client.subscribe("a:b")
        await server.say(tagged(3, UPDATED, uri="a:b"))
        await client.ping()
        assert server.asked("notifications/cancelled") == []
    assert heard == [(UPDATED, {"uri": "a:b"})]
    assert len(server.asked("subscriptions/listen")) == 1


@pytest.mark.parametrize("honoured", [{"resourceSubscriptions": 5}, {"resourceSubscriptions": "a:b"}])
async def test_an_agreement_that_lists_nothing_is_none(honoured: Any) -> None:
    async with listening(Broadcaster(RESOURCES, honoured=honoured)) as (client, _):
        with pytest.raises(NotOffered, match="The server does not tell of changes to a:b"):
            await client.subscribe("a:b")


async def test_what_belongs_to_no_subscription_of_ours_is_not_heard() -> None:
    server = Broadcaster(LISTS)
    async with listening(server) as (client, heard):
        await server.say(
            tagged("2", TOOLS_CHANGED),
            tagged(99, TOOLS_CHANGED),
            tagged(99, "notifications/subscriptions/acknowledged", notifications={}),
            Notification("notifications/subscriptions/acknowledged"),
            Notification("notifications/cancelled", {"requestId": 99}),
            Notification("notifications/cancelled"),
        )
        await client.ping()
    assert heard == [("notifications/cancelled", {"requestId": 99}), ("notifications/cancelled", {})]


async def test_a_resource_that_the_server_will_not_tell_of_is_not_subscribed_to() -> None:
    server = Broadcaster(RESOURCES, honoured={})
    async with listening(server) as (client, _):
        with pytest.raises(NotOffered, match="The server does not tell of changes to a:b"):
            await client.subscribe("a:b")
        server.honoured = None
        await client.subscribe("a:b")


async def test_an_acknowledgement_that_names_nothing_agrees_to_everything() -> None:
    server = Broadcaster(RESOURCES, honoured=[])
    async with listening(server) as (client, _):
        await client.subscribe("a:b")


async def test_a_refused_subscription_is_the_servers_error_and_not_asked_for_again() -> None:
    refusal = Failure(None, METHOD_NOT_FOUND, "no such method")
    server = Broadcaster(RESOURCES | {"tools": {"listChanged": True}}, **{"subscriptions/listen": refusal})
    async with connected(server) as client:
        with pytest.raises(McpError, match="no such method"):
            await client.subscribe("a:b")
        await client.ping()
    assert len(server.asked("subscriptions/listen")) == 2


async def test_a_server_that_does_not_say_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.subscriptions.ACKNOWLEDGE_SECONDS", 0.02)
    server = Broadcaster(RESOURCES)
    async with listening(server) as (client, _):
        server._answer = lambda request: Notification("silence")  # type: ignore[method-assign]
        with pytest.raises(Unreadable, match="did not say whether it tells of changes to a:b"):
            await client.subscribe("a:b")


@pytest.mark.parametrize("ending", ["result", "cancelled"])
async def test_after_a_break_it_is_asked_for_again_and_everything_counts_as_changed(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.mcp.client.subscriptions.RETRY_SECONDS", 0.01)
    listed = complete(tools=[tool("x")], ttlMs=60_000, cacheScope="private")
    server = Broadcaster({"tools": {"listChanged": True}} | RESOURCES, **{"tools/list": listed})
    async with listening(server) as (client, heard):
        await client.subscribe("a:b")
        await client.list_tools()
        for id in list(server.listening):
            begun = server.heard
            if ending == "result":
                await server.end(id)
            else:
                await server.say(Notification("notifications/cancelled", {"requestId": id}))
            await begun.wait()
            await client.ping()
        await client.list_tools()
    assert heard == [(TOOLS_CHANGED, {}), (UPDATED, {"uri": "a:b"})]
    assert len(server.asked("tools/list")) == 2
    assert len(server.asked("subscriptions/listen")) == 4


async def test_a_list_that_was_read_before_the_server_listens_is_read_again() -> None:
    class Sleepy(Broadcaster):
        def _answer(self, request: Request) -> Message:
            message = super()._answer(request)
            if request.method == "subscriptions/listen":
                self.acknowledgement, message = message, Notification("silence")
            return message

    server = Sleepy({"tools": {"listChanged": True}}, **{"tools/list": complete(tools=[])})
    async with listening(server) as (client, heard):
        await client.list_tools()
        await server.say(server.acknowledgement)
        await client.ping()
    assert heard == [("silence", {}), (TOOLS_CHANGED, {})]


def test_who_is_told_need_not_know_of_subscriptions() -> None:
    tag = {META + "subscriptionId": 3}
    assert without_tag({"uri": "a:b", "_meta": tag}) == {"uri": "a:b"}
    assert without_tag({"_meta": tag | {"x": 1}}) == {"_meta": {"x": 1}}
    for untagged in ({"uri": "a:b"}, {"_meta": {"x": 1}}, {"_meta": None}):
        assert without_tag(untagged) == untagged


def test_what_may_have_been_missed() -> None:
    assert missed({"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["a:b"]}) == [
        (TOOLS_CHANGED, {}),
        (UPDATED, {"uri": "a:b"}),
    ]
    assert missed({"resourceSubscriptions": "a:b"}) == []
