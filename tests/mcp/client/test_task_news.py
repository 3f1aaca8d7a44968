"""A server that tells how a task goes, and what is made of that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp import Client, Context, Server, http, memory
from agent.mcp.client.task_news import TaskNews
from agent.mcp.envelope import Transport
from agent.mcp.server.kept_tasks import KeptTasks
from tests.mcp.bridge import bridge
from tests.mcp.broadcaster import Broadcaster, tagged
from tests.mcp.foreign_server import connected
from tests.mcp.modern_server import complete, meta

pytestmark = pytest.mark.anyio

TASK = "notifications/tasks"
DONE = {"content": [{"type": "text", "text": "done"}]}
FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
ANA = {"action": "accept", "content": {"name": "Ana"}}
NEVER = 60_000  # milliseconds until it is time to look again


def task(status: str, **more: Any) -> dict[str, Any]:
    times = {"createdAt": "2026-09-01T08:00:00Z", "lastUpdatedAt": "2026-09-01T08:00:00Z"}
    return {"taskId": "tk", "status": status, "ttlMs": 600_000, "pollIntervalMs": NEVER} | times | more


class Telling(Broadcaster):
    """`looks` are the answers to `tasks/get`; it goes on with what is told when the first was given."""

    def __init__(self, *looks: Any, honoured: Any = None, **answers: Any) -> None:
        self.looks = iter(looks)
        self.looked = anyio.Event()
        calls = {"tools/call": {"resultType": "task"} | task("working"), "tasks/get": self.look}
        super().__init__({"tools": {}}, honoured, **calls | {"tasks/update": complete(), "tasks/cancel": complete()})
        self.answers |= answers

    def look(self, params: Any) -> Any:
        self.looked.set()
        return complete(**next(self.looks))

    async def tell(self, *states: dict[str, Any]) -> None:
        [id] = self.listening
        await self.say(*(tagged(id, TASK, **state) for state in states))


async def willing(method: str, params: Any) -> Mapping[str, Any]:
    return ANA


async def called(client: Client, into: list[Any]) -> None:
    into.append(await client.call_tool("x", progress=lambda *report: into.append(report)))


async def test_a_task_is_listened_to_and_looked_at_once() -> None:
    server, heard, told = Telling(task("working")), list[Any](), list[Any]()
    async with connected(server, on_notification=lambda *each: told.append(each)) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, client, heard)
            await server.looked.wait()
            await anyio.wait_all_tasks_blocked()
            await server.tell(task("working", statusMessage="half"))
            await anyio.wait_all_tasks_blocked()
            await server.tell(task("completed", result=DONE))
        await client.ping()
    *reports, result = heard
    assert reports == [(0, None, ""), (1, None, ""), (2, None, "half")]
    assert result.content == (TextContent(text="done"),)
    wanted = {"notifications": {"taskIds": ["tk"]}, "_meta": meta()}
    assert server.asked("subscriptions/listen") == [wanted]
    assert len(server.asked("tasks/get")) == 1
    assert [asked["requestId"] for asked in server.asked("notifications/cancelled")] == list(server.listening)
    assert told == []


async def test_what_it_wants_to_know_may_be_told_too() -> None:
    server, heard = Telling(task("working"), task("working")), list[Any]()
    question = {"q": {"method": "elicitation/create", "params": FORM}}
    async with connected(server, answer=willing) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(called, client, heard)
        await server.looked.wait()
        await anyio.wait_all_tasks_blocked()
        await server.tell(task("input_required", inputRequests=question))
        await anyio.wait_all_tasks_blocked()
        await server.tell(task("input_required", inputRequests=question), task("completed", result=DONE))
    assert [update["inputResponses"] for update in server.asked("tasks/update")] == [{"q": ANA}]
    assert heard[-1].content == (TextContent(text="done"),)


@pytest.mark.parametrize("told", [task("completed"), task("failed"), task("input_required")])
async def test_where_not_everything_is_told_it_is_looked_at(told: Any) -> None:
    server, heard = Telling(task("working"), task("completed", result=DONE)), list[Any]()
    async with connected(server) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(called, client, heard)
        await server.looked.wait()
        await anyio.wait_all_tasks_blocked()
        await server.tell(told)
    assert heard[-1].content == (TextContent(text="done"),)


async def test_what_is_told_of_something_else_or_cannot_be_read_is_not_heard() -> None:
    server, heard = Telling(task("working")), list[Any]()
    async with connected(server) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(called, client, heard)
        await server.looked.wait()
        await anyio.wait_all_tasks_blocked()
        await server.say(tagged(99, TASK, **task("cancelled")))
        await server.tell(task("cancelled", taskId="other"), task("cancelled") | {"status": 7})
        await anyio.wait_all_tasks_blocked()
        await server.tell(task("completed", result=DONE))
    assert heard[2:-1] == []
    assert heard[-1].content == (TextContent(text="done"),)


async def test_a_server_that_tells_nothing_of_tasks_is_asked_and_not_listened_to() -> None:
    looks = [task("working", pollIntervalMs=1), task("completed", result=DONE)]
    server, heard = Telling(*looks, honoured={}), list[Any]()
    server.answers["tools/call"] |= {"pollIntervalMs": 1}
    async with connected(server) as client:
        await called(client, heard)
        await client.ping()
    assert len(server.asked("tasks/get")) == 2
    assert len(server.asked("subscriptions/listen")) == 1
    assert len(server.asked("notifications/cancelled")) == 1


async def test_while_a_stream_is_broken_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.task_news.TOLD_SECONDS", 60)
    looks = [*(task("working", pollIntervalMs=1) for _ in range(3)), task("completed", result=DONE)]
    server, heard = Telling(*looks), list[Any]()
    async with connected(server) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(called, client, heard)
        await server.looked.wait()
        await anyio.wait_all_tasks_blocked()
        for id in list(server.listening):
            await server.end(id)
    assert len(server.asked("tasks/get")) == 4


async def test_only_the_newest_that_is_told_counts() -> None:
    news = TaskNews("tk")
    news.turn(is_told=True)
    assert await news.next(60) is None
    for status in ("working", "cancelled"):
        news.tell(task(status))
    assert await news.next(60) == task("cancelled")
    news.turn(is_told=True)
    with anyio.move_on_after(0.01) as patience:
        await news.next(0)
    assert patience.cancelled_caught


@asynccontextmanager
async def reaching(server: Server, way: str) -> AsyncIterator[Transport]:
    if way == "memory":
        yield memory(server)
        return
    async with bridge(server.asgi()) as network:
        yield http("http://127.0.0.1:8000/mcp", transport=network)


@pytest.mark.parametrize("way", ["memory", "http"])
async def test_both_ends_of_ours(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server, go_on = Server("here"), anyio.Event()

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        await ctx.progress(1, 2, "half")
        await go_on.wait()
        return (await ctx.elicit("who?", FORM["requestedSchema"])).content["name"]

    heard: list[Any] = []
    looked: list[Any] = []
    get = KeptTasks.get

    async def get_counted(self: KeptTasks, *arguments: Any) -> Any:
        looked.append(arguments)
        return await get(self, *arguments)

    monkeypatch.setattr(KeptTasks, "get", get_counted)

    def report(done: float, total: float | None, message: str) -> None:
        heard.append(message)
        if message == "half":
            go_on.set()

    with anyio.fail_after(3):
        async with (
            reaching(server, way) as transport,
            Client(transport, answer=willing, capabilities={"elicitation": {}}) as client,
        ):
            assert (await client.call_tool("work", progress=report)).content == (TextContent(text="Ana"),)
    assert "half" in heard
    assert len(looked) <= 3  # when it begins to listen, and after its answer
