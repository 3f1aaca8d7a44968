"""Tool calls that go on after their answer, as a server keeps them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.mcp import Context, McpError, MemoryTaskStore, Server, TaskRecord
from agent.mcp.jsonrpc import Notification, Request
from agent.mcp.server.task_store import StoreFull
from tests.mcp.raw_client import raw_client
from tests.mcp.stateless_caller import SUBSCRIPTION, TASKS, Caller, accept, caller, sampled, text

pytestmark = pytest.mark.anyio

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
NEEDED = {"requiredCapabilities": {"extensions": {TASKS: {}}}}


class Workshop:
    """A server whose work goes on when it is told to."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("here", **options)
        self.go_on, self.stopped = anyio.Event(), anyio.Event()
        for tool in (self.work, self.fail, self.break_down, self.ask, self.ask_twice, self.ask_briefly):
            self.server.tool(task="optional")(tool)
        self.server.tool(task="required")(self.only)
        self.server.tool(task="required", asks_first=True)(self.later)
        self.server.tool(self.plain)

    async def work(self, ctx: Context) -> str:
        try:
            await ctx.progress(1, 2, "half")
            await ctx.log("error", "not heard")
            await self.go_on.wait()
            await ctx.begin_task()
        finally:
            self.stopped.set()
        return "worked"

    async def fail(self) -> str:
        raise RuntimeError("no paper")

    async def break_down(self) -> str:
        raise McpError(-7, "broken", {"x": 1})

    async def ask(self, ctx: Context) -> str:
        answer = await ctx.elicit("Who?", FORM)
        return f"{answer.action} {answer.content} {(await ctx.sample('Hm?')).text}"

    async def ask_twice(self, ctx: Context) -> str:
        said: dict[str, Any] = {}

        async def ask(key: str) -> None:
            said[key] = (await ctx.elicit("Who?", FORM, key=key)).content

        async with anyio.create_task_group() as tasks:
            for key in ("a", "b"):
                tasks.start_soon(ask, key)
        return f"{said['a']} {said['b']}"

    async def ask_briefly(self, ctx: Context) -> str:
        with anyio.move_on_after(0):
            await ctx.elicit("Who?", FORM)
        await self.go_on.wait()
        return "went on"

    async def only(self) -> str:
        return "done"

    async def later(self, ctx: Context) -> str:
        first = await ctx.elicit("Who?", FORM, key="first")
        await ctx.once("effect", self.effect)
        await ctx.begin_task()
        second = await ctx.elicit("Who else?", FORM, key="second")
        return f"{first.content} {second.content}"

    async def plain(self) -> str:
        return "at once"

    effects = 0

    async def effect(self) -> None:
        self.effects += 1


async def begun(client: Caller, tool: str, **params: Any) -> str:
    """The id of the task a call became."""
    created = await client.call(tool, **params)
    assert created["resultType"] == "task"
    return str(created["taskId"])


async def settled(client: Caller, id: str, *statuses: str) -> dict[str, Any]:
    """The task, as soon as it has one of these statuses."""
    with anyio.fail_after(5):
        while True:
            task: dict[str, Any] = await client.ask("tasks/get", taskId=id)
            if task["status"] in statuses:
                return task


async def test_the_answer_is_the_task_and_the_task_is_there_at_once() -> None:
    shop = Workshop()
    async with caller(shop.server) as client:
        created = await client.call("work")
        assert created == {
            "resultType": "task",
            "taskId": created["taskId"],
            "status": "working",
            "createdAt": created["createdAt"],
            "lastUpdatedAt": created["createdAt"],
            "ttlMs": 3_600_000,
            "pollIntervalMs": 1_000,
        }
        assert len(created["taskId"]) >= 32
        assert created["createdAt"].endswith("Z")
        found = await client.ask("tasks/get", taskId=created["taskId"])
        assert (found["resultType"], found["status"]) == ("complete", "working")
        shop.go_on.set()
        done = await settled(client, created["taskId"], "completed")
        assert done["result"] == {"content": [{"type": "text", "text": "worked"}]}
        assert client.raw.told("notifications/message") == client.raw.told("notifications/progress") == []


async def test_progress_is_the_status_of_a_task() -> None:
    async with caller(Workshop().server) as client:
        id = await begun(client, "work")
        with anyio.fail_after(5):
            while (task := await client.ask("tasks/get", taskId=id)).get("statusMessage") is None:
                pass
        assert task["statusMessage"] == "half"


async def test_a_tools_failure_completes_and_a_protocol_error_fails() -> None:
    async with caller(Workshop().server) as client:
        failed = await settled(client, await begun(client, "fail"), "completed", "failed")
        assert failed["result"] == {"content": [{"type": "text", "text": "no paper"}], "isError": True}
        broken = await settled(client, await begun(client, "break_down"), "completed", "failed")
        assert (broken["status"], broken["error"]) == ("failed", {"code": -7, "message": "broken", "data": {"x": 1}})
        assert "result" not in broken


async def test_a_task_waits_for_its_answers_one_after_the_other() -> None:
    async with caller(Workshop().server) as client:
        id = await begun(client, "ask")
        asked = await settled(client, id, "input_required")
        question = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}}
        assert asked["inputRequests"] == {"question-1": question}
        assert "requestState" not in asked
        ignored = {"unknown": 7, "question-9": accept(name="x")}
        assert await client.ask("tasks/update", taskId=id, inputResponses=ignored) == {"resultType": "complete"}
        answers = {"question-1": accept(name="Ana")}
        assert await client.ask("tasks/update", taskId=id, inputResponses=answers) == {"resultType": "complete"}
        asked = await settled(client, id, "input_required")
        assert list(asked["inputRequests"]) == ["question-2"]
        late = {"question-1": accept(name="Bob"), "question-2": sampled("Hm.")}
        await client.ask("tasks/update", taskId=id, inputResponses=late)
        done = await settled(client, id, "completed")
        assert done["result"]["content"][0]["text"] == "accept {'name': 'Ana'} Hm."


async def test_two_questions_are_answered_one_at_a_time() -> None:
    async with caller(Workshop().server) as client:
        id = await begun(client, "ask_twice")
        with anyio.fail_after(5):
            while len((await client.ask("tasks/get", taskId=id)).get("inputRequests", ())) < 2:
                pass
        await client.ask("tasks/update", taskId=id, inputResponses={"b": accept(name="B")})
        assert list((await client.ask("tasks/get", taskId=id))["inputRequests"]) == ["a"]
        await client.ask("tasks/update", taskId=id, inputResponses={"a": {"action": "decline"}})
        done = await settled(client, id, "completed")
        assert done["result"]["content"][0]["text"] == "None {'name': 'B'}"


@pytest.mark.parametrize("responses", [None, [], "x", {"question-1": 7}, {"question-1": {"action": "maybe"}}])
async def test_answers_that_are_none_are_refused_and_the_question_stays(responses: Any) -> None:
    async with caller(Workshop().server) as client:
        id = await begun(client, "ask")
        await settled(client, id, "input_required")
        assert (await client.refusal("tasks/update", taskId=id, inputResponses=responses)).code == -32602
        assert (await client.ask("tasks/get", taskId=id))["status"] == "input_required"


async def test_a_question_nobody_waits_for_any_more_is_taken_back() -> None:
    shop = Workshop()
    async with caller(shop.server) as client:
        id = await begun(client, "ask_briefly")
        await anyio.wait_all_tasks_blocked()
        task = await client.ask("tasks/get", taskId=id)
        assert (task["status"], "inputRequests" in task) == ("working", False)
        shop.go_on.set()
        assert (await settled(client, id, "completed"))["result"]["content"][0]["text"] == "went on"


async def test_a_task_is_cancelled_and_stays_so() -> None:
    shop = Workshop()
    async with caller(shop.server) as client:
        id = await begun(client, "work")
        for _ in range(3):
            assert await client.ask("tasks/cancel", taskId=id) == {"resultType": "complete"}
        cancelled = await settled(client, id, "cancelled", "completed", "failed")
        assert cancelled["status"] == "cancelled"
        assert {"result", "error", "inputRequests"}.isdisjoint(cancelled)
        with anyio.fail_after(5):
            await shop.stopped.wait()
        await client.ask("tasks/update", taskId=id, inputResponses={})
        assert await client.ask("tasks/get", taskId=id) == cancelled


async def test_questions_may_come_before_the_task_and_what_was_done_then_stays_done() -> None:
    shop = Workshop()
    async with caller(shop.server) as client:
        asked = await client.call("later")
        assert (asked["resultType"], list(asked["inputRequests"])) == ("input_required", ["first"])
        created = await client.answer(asked, "later", first=accept(name="Ana"))
        assert created["resultType"] == "task"
        assert {"requestState", "inputRequests"}.isdisjoint(created)
        waiting = await settled(client, created["taskId"], "input_required")
        assert list(waiting["inputRequests"]) == ["second"]
        answers = {"second": accept(name="Bob")}
        await client.ask("tasks/update", taskId=created["taskId"], inputResponses=answers)
        done = await settled(client, created["taskId"], "completed")
        assert done["result"]["content"][0]["text"] == "{'name': 'Ana'} {'name': 'Bob'}"
        assert shop.effects == 1


# Who may.


async def test_a_client_that_knows_no_tasks_waits_or_is_refused() -> None:
    shop = Workshop()
    shop.go_on.set()
    async with caller(shop.server, {}) as client:
        assert await client.call("work") == text("worked")
        for tool in ("only", "later"):
            refused = await client.refusal("tools/call", name=tool)
            assert (refused.code, refused.data) == (-32021, NEEDED)
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert (await client.refusal(method, taskId="x", inputResponses={})).code == -32021


async def test_the_handshake_era_sees_and_calls_no_tool_that_runs_only_as_a_task() -> None:
    shop = Workshop()
    shop.go_on.set()
    async with raw_client(shop.server, "2025-11-25", {"extensions": {TASKS: {}}}) as raw:
        listed = {tool["name"] for tool in (await raw.ask("tools/list"))["tools"]}
        assert listed == {"work", "fail", "break_down", "ask", "ask_twice", "ask_briefly", "plain"}
        assert (await raw.refusal("tools/call", {"name": "only"})).code == -32601
        assert await raw.call("work") == {"content": [{"type": "text", "text": "worked"}]}


async def test_plain_tools_stay_plain_whatever_the_client_asks() -> None:
    async with caller(Workshop().server) as client:
        assert await client.call("plain", task={"ttl": 60_000}) == text("at once")
        assert TASKS in (await client.ask("server/discover"))["capabilities"]["extensions"]


@pytest.mark.parametrize("id", ["nope", "", None, 7, [], {}])
async def test_a_task_that_is_none_is_not_found(id: Any) -> None:
    async with caller(Workshop().server) as client:
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert (await client.refusal(method, taskId=id, inputResponses={})).code == -32602


async def test_a_task_belongs_to_whoever_began_it() -> None:
    shop = Workshop()
    tasks = shop.server._service.tasks
    async with caller(shop.server) as client:
        id = await begun(client, "work")
        assert await tasks.peek(id, None) is not None
        assert await tasks.peek(id, "somebody") is None


# Listening, and the store.


async def test_those_who_listen_hear_of_every_change() -> None:
    shop = Workshop()
    async with caller(shop.server) as client:
        id = await begun(client, "work")
        wanted = {"notifications": {"taskIds": [id, "unknown"]}}
        await client.raw.say(Request("l", "subscriptions/listen", client.said(wanted)))
        acknowledged = await client.raw.hear()
        assert isinstance(acknowledged, Notification)
        assert acknowledged.params == {"notifications": {"taskIds": [id]}, "_meta": {SUBSCRIPTION: "l"}}
        shop.go_on.set()
        while (told := await client.raw.hear()).params["status"] != "completed":  # type: ignore[union-attr, index]
            pass
        done = await client.ask("tasks/get", taskId=id)
    del done["resultType"]
    assert told == Notification("notifications/tasks", {**done, "_meta": {SUBSCRIPTION: "l"}})


async def test_tasks_that_still_run_are_cancelled_when_the_server_ends() -> None:
    store = MemoryTaskStore()
    async with caller(Workshop(task_store=store).server) as client:
        id = await begun(client, "work")
    record = await store.load(id)
    assert record is not None
    assert record.status == "cancelled"


async def test_a_store_that_is_full_is_said_so() -> None:
    async with caller(Workshop(task_store=MemoryTaskStore(limit=1)).server) as client:
        id = await begun(client, "work")
        refused = await client.refusal("tools/call", name="work")
        assert (refused.code, refused.message) == (-32603, "This server keeps 1 tasks already; try again later.")
        assert (await client.ask("tasks/get", taskId=id))["status"] == "working"


async def test_a_store_forgets_what_may_be_forgotten_and_nothing_else() -> None:
    now = 0.0
    store = MemoryTaskStore(limit=2, clock=lambda: now)

    def record(id: str, seconds: float) -> TaskRecord:
        return TaskRecord(id, now, now, seconds, 1.0)

    await store.save(record("short", 10))
    await store.save(record("long", 100))
    with pytest.raises(StoreFull):
        await store.save(record("third", 10))
    now = 10.0
    assert await store.load("short") is not None
    now = 10.1
    assert await store.load("short") is None
    await store.save(record("third", 10))
    assert await store.load("long") is not None


async def test_a_task_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Workshop()
    monkeypatch.setattr(shop.server._service.tasks, "_seconds", 0.05)
    async with caller(shop.server) as client:
        id = await begun(client, "work")
        with anyio.fail_after(5):
            await shop.stopped.wait()
        assert (await client.refusal("tasks/get", taskId=id)).code == -32602


async def test_a_store_that_breaks_does_not_take_the_server_with_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryTaskStore):
        async def save(self, record: TaskRecord) -> None:
            if record.status != "working" or record.message:
                raise OSError("no disk")
            await super().save(record)

    async with caller(Workshop(task_store=Broken()).server) as client:
        await begun(client, "work")
        assert await client.call("plain") == text("at once")
        assert await client.call("plain") == text("at once")
    assert "no disk" in caplog.text
