"""Clients of the stateless era that listen for changes."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agent.mcp import Server
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.server.subscribers import BACKLOG, Subscriber, Wanted
from agent.mcp.transports.memory import channel_pair
from tests.mcp.raw_client import RawClient
from tests.mcp.stateless_caller import CAPABILITIES, REVISION, SERVER, SUBSCRIPTION, Caller, caller

pytestmark = pytest.mark.anyio

EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
UPDATED = "notifications/resources/updated"


def a_server(**options: Any) -> Server:
    server = Server("here", **options)

    @server.tool
    async def count() -> int:
        return 1

    @server.resource("here://docs/{id}")
    async def doc(id: str) -> str:
        return id

    @server.resource("here://folder")
    async def folder() -> str:
        return "files"

    return server


async def added() -> str:
    return "added"


async def listening(client: Caller, id: str | int, **wanted: Any) -> dict[str, Any]:
    """Begin to listen; gives what was acknowledged."""
    await client.raw.say(Request(id, "subscriptions/listen", client.said({"notifications": wanted})))
    message = await client.raw.hear()
    assert isinstance(message, Notification)
    assert message.method == "notifications/subscriptions/acknowledged"
    assert message.params is not None
    assert message.params["_meta"] == {SUBSCRIPTION: id}
    acknowledged: dict[str, Any] = message.params["notifications"]
    return acknowledged


async def heard(client: Caller, count: int) -> list[tuple[str, Any]]:
    """The next messages: method, and subscription with URI if there is one."""
    found = []
    for _ in range(count):
        message = await client.raw.hear()
        assert isinstance(message, Notification)
        assert message.params is not None
        about = (message.params["_meta"][SUBSCRIPTION], *filter(None, [message.params.get("uri")]))
        found.append((message.method, about))
    return found


async def test_only_what_there_is_is_promised() -> None:
    async with caller(a_server()) as client:
        wanted = {**EVERYTHING, "resourceSubscriptions": ["here://folder", "elsewhere://x"], "unknown": True}
        assert await listening(client, "l-1", **wanted) == {
            "toolsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": ["here://folder"],
        }
        assert await listening(client, 2, toolsListChanged=False, promptsListChanged=None) == {}


async def test_everyone_hears_what_they_asked_for_and_nothing_else() -> None:
    server = a_server()
    async with caller(server) as client:
        await listening(client, "tools", toolsListChanged=True)
        await listening(client, "docs", resourceSubscriptions=["here://docs/1", "here://folder"])
        server.notify_resource_updated("here://docs/2")
        server.notify_resource_updated("here://docs/1")
        server.notify_resource_updated("here://folder/file")
        server.prompt(name="added")(added)
        server.remove_tool("count")
        assert sorted(await heard(client, 3)) == [
            (UPDATED, ("docs", "here://docs/1")),
            (UPDATED, ("docs", "here://folder/file")),
            ("notifications/tools/list_changed", ("tools",)),
        ]
        assert client.raw.told("notifications/progress") == []


async def test_changes_that_wait_are_one() -> None:
    server = a_server()
    async with caller(server) as client:
        await listening(client, 1, resourceSubscriptions=["here://folder"], toolsListChanged=True)
        for _ in range(100):
            server.notify_resource_updated("here://folder")
        server.remove_tool("count")
        assert await heard(client, 2) == [
            (UPDATED, (1, "here://folder")),
            ("notifications/tools/list_changed", (1,)),
        ]


def test_more_changes_than_can_wait_are_told_of_the_whole() -> None:
    subscriber = Subscriber(Wanted(uris=("here://folder",)))
    for number in range(3 * BACKLOG):
        subscriber.note((UPDATED, f"here://folder/{number}"))
    assert len(subscriber._pending) == BACKLOG + 1
    assert (UPDATED, "here://folder") in subscriber._pending


async def test_a_client_may_stop_listening() -> None:
    server = a_server()
    async with caller(server) as client:
        await listening(client, "gone", resourceSubscriptions=["here://folder"])
        await listening(client, "here", resourceSubscriptions=["here://folder"])
        await client.raw.tell("notifications/cancelled", {"requestId": "gone"})
        await client.call("count")
        server.notify_resource_updated("here://folder")
        assert await heard(client, 1) == [(UPDATED, ("here", "here://folder"))]


async def test_a_change_may_come_from_another_thread() -> None:
    server = a_server()
    async with caller(server) as client:
        await listening(client, 1, resourceSubscriptions=["here://folder"])
        await anyio.to_thread.run_sync(server.notify_resource_updated, "here://folder")
        assert threading.active_count() >= 1
        assert await heard(client, 1) == [(UPDATED, (1, "here://folder"))]


async def test_a_server_that_ends_says_so_to_all() -> None:
    server = a_server()
    async with caller(server) as client:
        for id in ("one", "two"):
            await listening(client, id, toolsListChanged=True)
        server.end_subscriptions()
        ends = [await client.raw.hear() for _ in range(2)]
    assert ends == [
        Result(id, {"resultType": "complete", "_meta": {SERVER: {"name": "here", "version": "1.0"}, SUBSCRIPTION: id}})
        for id in ("one", "two")
    ]


async def test_the_end_of_input_ends_those_who_listen_at_once() -> None:
    server = a_server()
    ours, theirs = channel_pair()
    client = Caller(RawClient(ours, {}), {REVISION: "2026-07-28", CAPABILITIES: {}})
    with anyio.fail_after(1.5):  # less than handlers have to finish
        async with ours, theirs, anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, theirs)
            await listening(client, 1, toolsListChanged=True)
            await ours.send_eof()
            assert isinstance(await client.raw.hear(), Result)


async def test_tasks_are_heard_of_by_those_who_know_tasks() -> None:
    async with caller(a_server(), {}) as client:
        await client.raw.say(Request(1, "subscriptions/listen", client.said({"notifications": {"taskIds": ["x"]}})))
        refused = await client.raw.hear()
    assert isinstance(refused, Failure)
    assert (refused.code, refused.data) == (
        -32021,
        {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}},
    )


async def test_what_is_promised_from_the_start_can_be_announced_later() -> None:
    server = Server("here", offers={"prompts", "tools", "completions"})
    async with caller(server) as client:
        found = await client.ask("server/discover")
        assert found["capabilities"] == {
            "logging": {},
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "completions": {},
        }
        assert (await client.ask("tools/list"))["tools"] == []
        await listening(client, 1, **EVERYTHING)
        server.prompt(name="added")(added)
        assert await heard(client, 1) == [("notifications/prompts/list_changed", (1,))]
