"""The tasks extension, seen from whoever calls."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp.client.input_requests import InputRefused
from agent.mcp.client.task_news import TaskNews
from agent.mcp.client.tasks import Task, follow, read_task
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import NO_CODE, Failure, Notification
from tests.mcp.foreign_server import ForeignServer, connected
from tests.mcp.modern_server import asks, complete, discovered, in_turn, meta

pytestmark = pytest.mark.anyio

FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
ANA = {"action": "accept", "content": {"name": "Ana"}}
DONE = {"content": [{"type": "text", "text": "done"}]}


def task(status: str, **more: Any) -> dict[str, Any]:
    times = {"createdAt": "2026-09-01T08:00:00Z", "lastUpdatedAt": "2026-09-01T08:00:00Z"}
    return {"taskId": "tk", "status": status, "ttlMs": 600_000, "pollIntervalMs": 1} | times | more


def created(**more: Any) -> dict[str, Any]:
    return {"resultType": "task"} | task("working", **more)


def seen(status: str, **more: Any) -> dict[str, Any]:
    return complete(**task(status, **more))


def server(*looks: Any, **answers: Any) -> ForeignServer:
    acknowledged = {"tasks/update": complete(), "tasks/cancel": complete()}
    first = {"server/discover": discovered(), "tools/call": created(), "tasks/get": in_turn(looks)}
    return ForeignServer(first | acknowledged | answers)


async def willing(method: str, params: Any) -> Mapping[str, Any]:
    return ANA


async def test_a_task_is_looked_after_until_it_is_done_and_its_result_is_that_of_the_call() -> None:
    reports: list[Any] = []
    notes = ["queued", "half", "half"]
    looks = [*(seen("working", statusMessage=note) for note in notes), seen("completed", result=DONE)]
    far = server(*looks)
    async with connected(far) as client:
        result = await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert result.content == (TextContent(text="done"),)
    assert reports == [(0, None, ""), (1, None, "queued"), (2, None, "half"), (3, None, "half")]
    assert far.asked("tasks/get") == [{"taskId": "tk", "_meta": meta()}] * 4
    assert far.asked("tasks/cancel") == []


async def test_that_the_tool_failed_is_a_result() -> None:
    async with connected(server(seen("completed", result=DONE | {"isError": True}))) as client:
        assert (await client.call_tool("x")).is_error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": -32050, "message": "worker died", "data": {"n": 1}}, (-32050, "worker died", {"n": 1})),
        (None, (NO_CODE, "The task failed: out of memory", None)),
        ({"code": "x", "message": "y"}, (NO_CODE, 'y (code "x")', None)),
        ({"code": "x"}, (NO_CODE, "The task failed: out of memory", None)),
    ],
)
async def test_a_failed_task_is_an_error(error: Any, expected: Any) -> None:
    look = seen("failed", error=error, statusMessage="out of memory")
    async with connected(server(look)) as client:
        with pytest.raises(McpError) as caught:
            await client.call_tool("x")
    assert (caught.value.code, caught.value.message, caught.value.data) == expected


@pytest.mark.parametrize(
    ("look", "sentence"),
    [
        (seen("cancelled"), r"The server cancelled the task\."),
        (seen("cancelled", statusMessage="no time"), "The server cancelled the task: no time"),
        (seen("completed"), r"The server finished the task without a result\."),
        (complete(), r"with a task that has no id or no status\."),
        (complete(taskId=3, status="working"), r"with a task that has no id or no status\."),
    ],
)
async def test_what_is_no_result_is_a_sentence(look: Any, sentence: str) -> None:
    async with connected(server(look)) as client:
        with pytest.raises(Unreadable, match=sentence):
            await client.call_tool("x")


async def test_questions_are_answered_once_each_while_the_task_goes_on() -> None:
    one, two = ({key: {"method": "elicitation/create", "params": FORM}} for key in ("q1", "q2"))
    looks = [
        seen("input_required", inputRequests=one),
        seen("input_required", inputRequests=one),
        seen("input_required", inputRequests=one | two),
        seen("working"),
        seen("completed", result=DONE),
    ]
    asked: list[Any] = []

    async def count(method: str, params: Any) -> Mapping[str, Any]:
        asked.append(method)
        return ANA

    far = server(*looks)
    async with connected(far, answer=count) as client:
        await client.call_tool("x")
    declared = {"sampling": {}, "elicitation": {}, "roots": {}}
    assert far.asked("tasks/update") == [
        {"taskId": "tk", "inputResponses": {key: ANA}, "_meta": meta(declared)} for key in ("q1", "q2")
    ]
    assert asked == ["elicitation/create"] * 2


async def test_a_refused_input_request_cancels_the_task() -> None:
    requests = {"q": {"method": "roots/list"}}
    far = server(seen("input_required", inputRequests=requests))
    async with connected(far) as client:
        with pytest.raises(InputRefused, match="this client does not offer roots/list"):
            await client.call_tool("x")
    assert far.asked("tasks/cancel") == [{"taskId": "tk", "_meta": meta()}]


async def test_a_caller_that_leaves_cancels_the_task() -> None:
    looked = anyio.Event()

    def report(done: float, total: float | None, message: str) -> None:
        if done:
            looked.set()

    far = server(seen("working", pollIntervalMs=60_000))
    async with connected(far) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "x", None, report)
        await looked.wait()
        tasks.cancel_scope.cancel()
    assert far.asked("tasks/cancel") == [{"taskId": "tk", "_meta": meta()}]
    assert far.asked("notifications/cancelled") == []


async def test_a_task_may_come_after_questions() -> None:
    question = asks("s", who=("elicitation/create", FORM))
    far = server(seen("completed", result=DONE), **{"tools/call": in_turn([question, created()])})
    async with connected(far, answer=willing) as client:
        assert (await client.call_tool("x")).content == (TextContent(text="done"),)
    assert "requestState" not in far.asked("tasks/get")[0]


@pytest.mark.parametrize("method", ["prompts/get", "resources/read", "tools/list"])
async def test_only_the_call_of_a_tool_may_become_a_task(method: str) -> None:
    far = server(**{method: created()})
    async with connected(far) as client:
        calls = {"prompts/get": client.get_prompt, "resources/read": client.read_resource}
        with pytest.raises(Unreadable, match=f"The server answered {method} with a result of an unknown kind, 'task'"):
            await (calls[method]("x") if method in calls else client.list_tools())


async def test_an_unknown_task_is_the_servers_error() -> None:
    async with connected(server(Failure(None, -32602, "no such task"))) as client:
        with pytest.raises(McpError, match="no such task"):
            await client.call_tool("x")


async def test_a_task_is_given_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.tasks.GRACE_SECONDS", 0)
    far = server(**{"tools/call": created(ttlMs=1), "tasks/get": lambda params: seen("working", ttlMs=1)})
    async with connected(far) as client:
        with pytest.raises(Unreadable, match="did not finish the task in the time that it set for it"):
            await client.call_tool("x")
    assert len(far.asked("tasks/cancel")) == 1


async def test_progress_of_the_call_itself_is_reported_too() -> None:
    reports: list[Any] = []
    far = server(seen("completed", result=DONE))
    async with connected(far) as client:
        far.before = (Notification("notifications/progress", {"progressToken": 2, "progress": 0.5, "message": "soon"}),)
        await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert reports[0] == (0.5, None, "soon")


# By hand.


async def test_a_look_that_is_lost_on_the_way_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.tasks.POLL_SECONDS", 0.001)
    looks = [ConnectionLost("a"), ConnectionLost("b"), seen("completed", result=DONE)]
    sent: list[str] = []

    async def send(method: str, params: Any) -> dict[str, Any]:
        sent.append(method)
        look = looks.pop(0) if looks else ConnectionLost("gone")
        if isinstance(look, ConnectionLost):
            raise look
        return look

    async def handle(question: Any, context: Any) -> Any:
        raise AssertionError("nothing is asked")

    def following(id: str) -> AbstractContextManager[TaskNews]:
        return nullcontext(TaskNews(id))

    assert await follow(created(), send, handle, following) == DONE
    with pytest.raises(ConnectionLost, match="gone"):
        await follow(created(), send, handle, following)
    assert sent == ["tasks/get"] * 6 + ["tasks/cancel"]


def test_what_a_task_says() -> None:
    raw = task("working", pollIntervalMs=1_500, statusMessage="queued")
    assert read_task(raw) == Task("tk", "working", "queued", 1.5, 600.0, raw)
    older = {"taskId": "tk", "status": "working", "pollInterval": 10, "ttl": None}
    assert read_task(older) == Task("tk", "working", "", 0.05, None, older)
    odd = {"taskId": "tk", "status": "working", "pollIntervalMs": True, "ttlMs": "x", "statusMessage": 3}
    assert read_task(odd) == Task("tk", "working", "", 0.5, None, odd)
    assert read_task(task("working", pollIntervalMs=1e12)).poll == 60.0
