from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp.envelope import Closed, ConnectionLost, Envelope
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.exchange import SessionLost
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, Message, Notification, Request, Result
from agent.mcp.transports.memory import MemoryChannel
from tests.mcp.foreign_server import ForeignServer, connected, initialized, tool
from tests.mcp.modern_server import in_turn

pytestmark = pytest.mark.anyio

DONE = {"content": [{"type": "text", "text": "done"}]}
TASKS = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}}


async def willing(method: str, params: Any) -> Mapping[str, Any]:
    return {"action": "accept"}


async def test_the_trace_context_of_the_caller_goes_with_each_request() -> None:
    parent = f"00-{'4b' * 16}-{'0f' * 8}-01"
    server = ForeignServer({"tools/call": DONE})
    async with connected(server, trace=lambda: {"traceparent": parent}) as client:
        await client.call_tool("x", progress=print)
        await client.ping()
    assert server.asked("tools/call")[0]["_meta"] == {"traceparent": parent, "progressToken": 3}
    assert server.asked("ping") == [{"_meta": {"traceparent": parent}}]


# Batches.


async def test_a_batch_of_the_servers_is_answered_by_one_where_the_revision_has_them() -> None:
    for revision, expected in (("2025-03-26", 1), ("2025-06-18", 2)):
        server = ForeignServer({"initialize": initialized(revision)})
        frames: list[Any] = []

        async def serve(channel: Any, /, server: ForeignServer = server, frames: list[Any] = frames) -> None:
            server.channel = channel
            async for item in channel:
                frames.append(item)
                for message in item.messages:
                    if isinstance(message, Request):
                        await server.say(server._answer(message))

        server.serve = serve  # type: ignore[method-assign]
        async with connected(server) as client:
            assert server.channel
            await server.channel.send(Envelope((Request("a", "ping"), Request("b", "ping")), batch=True))
            await client.ping()
        answers = [frame for frame in frames if isinstance(frame.messages[0], Result)]
        assert [frame.batch for frame in answers] == ([True] if expected == 1 else [False, False])
        assert [message for frame in answers for message in frame.messages] == [Result("a", {}), Result("b", {})]


# Sessions that are lost.


class Forgetful(ForeignServer):
    """Over HTTP it would answer 404: it has forgotten the session, as often as `forgets` says."""

    forgets = 0

    async def say(self, *messages: Message) -> None:
        assert isinstance(self.channel, MemoryChannel)
        for message in messages:
            if self.forgets and isinstance(message, Result | Failure) and not _begins(message):
                assert message.id is not None
                self.forgets -= 1
                await self.channel._outgoing.send(Closed(message.id, SessionLost("It has forgotten us.", 404)))
            else:
                await super().say(message)


def _begins(message: Message) -> bool:
    return isinstance(message, Result) and "protocolVersion" in message.value


async def test_a_lost_session_is_begun_anew_and_the_request_repeated_once() -> None:
    heard: list[Any] = []
    everything = initialized(tools={}, logging={}, resources={"subscribe": True})
    answers = {"tools/call": DONE, "resources/subscribe": {}, "logging/setLevel": {}}
    server = Forgetful({"initialize": everything} | answers)
    async with connected(server, on_notification=lambda *told: heard.append(told)) as client:
        await client.set_logging_level("debug")
        await client.subscribe("a:b")
        server.forgets = 1
        assert (await client.call_tool("x")).content == (TextContent(text="done"),)
    said = [told.method for told in server.told if isinstance(told, Request | Notification)]
    assert said == [
        *("initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe", "tools/call"),
        *("initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe", "tools/call"),
    ]
    assert heard == [("notifications/tools/list_changed", {}), ("notifications/resources/list_changed", {})]


async def test_a_subscription_that_a_new_session_refuses_is_a_notice_and_costs_nothing_else() -> None:
    heard: list[Any] = []
    notices: list[str] = []
    refused: set[str] = set()

    def subscribe(params: Any) -> Any:
        uri = params["uri"]
        return Failure(None, -32002, f"Resource not found: {uri}") if uri in refused else {}

    everything = initialized(tools={}, resources={"subscribe": True})
    server = Forgetful({"initialize": everything, "tools/call": DONE, "resources/subscribe": subscribe})
    hearing = {"on_notification": lambda *told: heard.append(told), "on_notice": notices.append}
    async with connected(server, **hearing) as client:
        for uri in ("notes://1", "notes://2"):
            await client.subscribe(uri)
        refused.add("notes://1")
        for _ in range(2):
            server.forgets = 1
            assert (await client.call_tool("x")).content == (TextContent(text="done"),)
    assert [asked["uri"] for asked in server.asked("resources/subscribe")] == [
        *("notes://1", "notes://2"),
        *("notes://1", "notes://2"),
        "notes://2",
    ]
    assert notices == [
        "The server began a new session, in which it no longer tells of changes to notes://1: "
        "Resource not found: notes://1"
    ]
    assert heard == [("notifications/tools/list_changed", {}), ("notifications/resources/list_changed", {})] * 2


async def test_a_session_that_is_lost_while_it_is_restored_keeps_its_subscriptions() -> None:
    everything = initialized(tools={}, resources={"subscribe": True})
    server = Forgetful({"initialize": everything, "tools/call": DONE, "resources/subscribe": {}})
    async with connected(server) as client:
        await client.subscribe("a:b")
        server.forgets = 2
        assert (await client.call_tool("x")).content == (TextContent(text="done"),)
        server.forgets = 1
        await client.call_tool("x")
    assert len(server.asked("resources/subscribe")) == 3


async def test_a_session_that_is_lost_again_at_once_is_lost() -> None:
    server = Forgetful({"tools/call": DONE})
    async with connected(server) as client:
        server.forgets = 2
        with pytest.raises(ConnectionLost, match="It has forgotten us"):
            await client.call_tool("x")


async def test_calls_that_lose_the_session_together_begin_one_together() -> None:
    server = Forgetful({"tools/call": DONE})
    async with connected(server) as client, anyio.create_task_group() as tasks:
        server.forgets = 3
        for _ in range(3):
            tasks.start_soon(client.call_tool, "x")
    assert len(server.asked("initialize")) == 2
    assert len(server.asked("tools/call")) == 6


async def test_a_server_that_begins_no_other_session_is_lost() -> None:
    refusal = Failure(None, -32000, "too many sessions")
    server = Forgetful({"initialize": in_turn([initialized(tools={}), refusal]), "tools/call": DONE})
    async with connected(server) as client:
        server.forgets = 1
        with pytest.raises(ConnectionLost, match=r"It has forgotten us\. It did not begin another: too many sessions"):
            await client.call_tool("x")


# Pages that must be visited first.

PAGES = {
    "elicitations": [
        {"mode": "url", "message": "Sign in", "url": "https://a.example", "elicitationId": id} for id in ("e1", "e2")
    ]
}
SIGN_IN = Failure(None, -32042, "sign in first", PAGES)


async def test_pages_that_the_server_wants_visited_are_offered_and_the_call_is_repeated_once() -> None:
    seen: list[Any] = []

    async def visit(method: str, params: Any) -> Mapping[str, Any]:
        seen.append((method, params))
        return {"action": "accept"}

    server = ForeignServer({"tools/call": in_turn([SIGN_IN, DONE, SIGN_IN, SIGN_IN])})
    async with connected(server, answer=visit, capabilities={"elicitation": {"url": {}}}) as client:
        assert (await client.call_tool("x")).content == (TextContent(text="done"),)
        hint = {"_meta": {"mcp-chat/beforeRetry": True}}
        assert seen == [("elicitation/create", page | hint) for page in PAGES["elicitations"]]
        with pytest.raises(McpError, match="sign in first"):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 4


@pytest.mark.parametrize(
    ("capabilities", "revision", "action", "data"),
    [
        ({"elicitation": {"url": {}}}, "2025-11-25", "decline", PAGES),
        ({"elicitation": {"form": {}}}, "2025-11-25", "accept", PAGES),
        ({"elicitation": {"url": {}}}, "2025-06-18", "accept", PAGES),
        ({"elicitation": {"url": {}}}, "2025-11-25", "accept", None),
        ({"elicitation": {"url": {}}}, "2025-11-25", "accept", {"elicitations": []}),
        ({"elicitation": {"url": {}}}, "2025-11-25", "accept", {"elicitations": ["x"]}),
    ],
)
async def test_where_they_are_not_visited_the_error_stands(
    capabilities: Any, revision: str, action: str, data: Any
) -> None:
    async def visit(method: str, params: Any) -> Mapping[str, Any]:
        return {"action": action}

    refusal = Failure(None, -32042, "sign in first", data)
    server = ForeignServer({"initialize": initialized(revision, tools={}), "tools/call": refusal})
    async with connected(server, answer=visit, capabilities=capabilities) as client:
        with pytest.raises(McpError) as caught:
            await client.call_tool("x")
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32042, "sign in first", data)
    assert len(server.asked("tools/call")) == 1


# Tools that run as tasks only.


def task(status: str, **more: Any) -> dict[str, Any]:
    times = {"createdAt": "2026-01-01T08:00:00Z", "lastUpdatedAt": "2026-01-01T08:00:00Z"}
    return {"taskId": "tk", "status": status, "ttl": None, "pollInterval": 1} | times | more


def runner(*looks: Any, **answers: Any) -> ForeignServer:
    tools = {"tools": [tool("slow") | {"execution": {"taskSupport": "required"}}, tool("fast")]}

    def call(params: Mapping[str, Any]) -> Any:
        if params["name"] == "slow" and "task" not in params:
            return Failure(None, METHOD_NOT_FOUND, "slow runs as a task only")
        return {"task": task("working")} if "task" in params else DONE

    first = {"initialize": initialized(**TASKS), "tools/list": tools, "tools/call": call, "tasks/get": in_turn(looks)}
    return ForeignServer(first | {"tasks/result": DONE, "tasks/cancel": task("cancelled")} | answers)


async def test_a_tool_that_needs_a_task_is_called_like_any_other() -> None:
    reports: list[Any] = []
    server = runner(task("working", statusMessage="half"), task("completed"))
    async with connected(server) as client:
        await client.list_tools()
        assert (await client.call_tool("fast")).content == (TextContent(text="done"),)
        result = await client.call_tool("slow", {"a": 1}, lambda *report: reports.append(report))
    assert result.content == (TextContent(text="done"),)
    assert server.asked("tools/call")[1:] == [
        {"name": "slow", "arguments": {"a": 1}, "task": {}, "_meta": {"progressToken": 5}}
    ]
    assert server.asked("tasks/get") == [{"taskId": "tk"}] * 2
    assert server.asked("tasks/result") == [{"taskId": "tk"}]
    assert reports == [(0, None, ""), (1, None, "half")]


async def test_the_progress_of_a_task_is_heard_until_it_ends() -> None:
    reports: list[Any] = []
    others: list[Any] = []

    def told(done: float, token: Any = 4) -> Notification:
        return Notification("notifications/progress", {"progressToken": token, "progress": done, "total": 4})

    class Reporter(ForeignServer):
        async def say(self, *messages: Message) -> None:
            looks = len(self.asked("tasks/get"))
            await super().say(told(looks), told(9, 99), told(9, None), *messages)

    server = Reporter(runner(task("working", statusMessage="half"), task("completed")).answers)
    async with connected(server, on_notification=lambda *heard: others.append(heard)) as client:
        await client.list_tools()
        await client.call_tool("slow", progress=lambda *report: reports.append(report))
        await client.ping()
    assert reports == [(0, 4, ""), (0, 4, ""), (1, 4, ""), (1, 4, "half"), (2, 4, ""), (2, 4, "")]
    assert others == []


async def test_that_it_needs_one_may_show_only_when_it_is_called() -> None:
    server = runner(task("completed"))
    async with connected(server) as client:
        assert (await client.call_tool("slow")).content == (TextContent(text="done"),)
        server.answers["tools/call"] = Failure(None, METHOD_NOT_FOUND, "no such thing")
        with pytest.raises(McpError, match="no such thing"):
            await client.call_tool("fast")
    assert len(server.asked("tools/list")) == 2


async def test_a_server_without_tasks_is_not_asked_for_one() -> None:
    server = runner(initialize=initialized(tools={}))
    async with connected(server) as client:
        await client.list_tools()
        with pytest.raises(McpError, match="slow runs as a task only"):
            await client.call_tool("slow")


async def test_a_task_that_wants_to_know_something_asks_while_its_result_is_awaited() -> None:
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "tk"}}}

    class Asker(ForeignServer):
        async def serve(self, channel: Any, /) -> None:
            self.channel = channel
            async for item in channel:
                for message in item.messages:
                    self.told.append(message)
                    if isinstance(message, Request) and message.method == "tasks/result":
                        self.waiting = message
                        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
                        await self.say(Request("q", "elicitation/create", form | related))
                    elif isinstance(message, Request):
                        await self.say(self._answer(message))
                    elif isinstance(message, Result):
                        await self.say(Result(self.waiting.id, DONE))

    server = Asker(runner(task("input_required")).answers)
    async with connected(server, answer=willing) as client:
        assert (await client.call_tool("slow")).content == (TextContent(text="done"),)
    assert Result("q", {"action": "accept"} | related) in server.told


@pytest.mark.parametrize(
    ("server", "error", "sentence"),
    [
        (runner(task("cancelled", statusMessage="no time")), Unreadable, "The server cancelled the task: no time"),
        (runner(task("failed"), **{"tasks/result": Failure(None, -32000, "boom")}), McpError, "boom"),
        (runner(Failure(None, INVALID_PARAMS, "no such task")), McpError, "no such task"),
        (runner({"status": "working"}), Unreadable, "with a task that has no id or no status"),
    ],
)
async def test_a_task_without_a_result_is_a_sentence(server: ForeignServer, error: Any, sentence: str) -> None:
    async with connected(server) as client:
        with pytest.raises(error, match=sentence):
            await client.call_tool("slow")


async def test_a_look_that_is_lost_on_the_way_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.tasks.POLL_SECONDS", 0.001)

    class Flaky(ForeignServer):
        async def say(self, *messages: Message) -> None:
            assert isinstance(self.channel, MemoryChannel)
            if len(self.asked("tasks/get")) in (1, 2):
                assert isinstance(messages[-1], Result)
                await self.channel._outgoing.send(Closed(messages[-1].id, ConnectionLost("The stream broke.")))
            else:
                await super().say(*messages)

    server = Flaky(runner(task("working"), task("working"), task("completed")).answers)
    async with connected(server) as client:
        assert (await client.call_tool("slow")).content == (TextContent(text="done"),)
    assert len(server.asked("tasks/get")) == 3
    assert server.asked("tasks/cancel") == []


async def test_a_failed_tool_is_a_result() -> None:
    async with connected(runner(task("failed"), **{"tasks/result": DONE | {"isError": True}})) as client:
        assert (await client.call_tool("slow")).is_error


async def test_a_server_that_runs_it_at_once_after_all_is_believed() -> None:
    async with connected(runner(**{"tools/call": DONE})) as client:
        await client.list_tools()
        assert (await client.call_tool("slow")).content == (TextContent(text="done"),)


@pytest.mark.parametrize("can_cancel", [True, False])
async def test_a_caller_that_leaves_cancels_the_task_where_that_can_be_done(can_cancel: bool) -> None:
    looked = anyio.Event()

    def report(done: float, total: float | None, message: str) -> None:
        if done:
            looked.set()

    server = runner(task("working", pollInterval=60_000))
    if not can_cancel:
        server.answers["initialize"] = initialized(tools={}, tasks={"requests": {"tools": {"call": {}}}})
    async with connected(server) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "slow", None, report)
        await looked.wait()
        tasks.cancel_scope.cancel()
    assert server.asked("tasks/cancel") == ([{"taskId": "tk"}] if can_cancel else [])
