from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from anyio.abc import ObjectStream

from agent.mcp.envelope import Closed, ConnectionLost, Envelope, Garbled
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Failure,
    Message,
    Notification,
    Request,
    Result,
)
from agent.mcp.peer import Stray
from agent.mcp.session import Session, open_session
from agent.mcp.transports.memory import MemoryChannel, channel_pair

pytestmark = pytest.mark.anyio


async def nothing(request: Request) -> Any:
    return {}


@dataclass
class Ear:
    """A handler that keeps what it hears, and answers with a function."""

    answer: Callable[[Request], Awaitable[Any]] = nothing
    heard: list[Any] = field(default_factory=list)
    troubles: list[Any] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        self.contexts.append(context)
        return await self.answer(request)

    def on_notification(self, notification: Notification) -> None:
        self.heard.append(notification)
        if notification.method == "bad":
            raise ZeroDivisionError

    def on_trouble(self, trouble: Garbled | Stray) -> None:
        self.troubles.append(trouble)


class Far:
    """The other side, by hand."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel

    async def say(self, *messages: Message, **more: Any) -> None:
        await self.channel.send(Envelope(messages, **more))

    async def put(self, item: Any) -> None:
        """Something a memory channel would not carry by itself."""
        await self.channel._outgoing.send(item)

    async def hear(self) -> Message:
        [message] = (await self.channel.receive()).messages
        return message  # type: ignore[no-any-return]


@asynccontextmanager
async def talking(ear: Ear | None = None, **more: Any) -> AsyncIterator[tuple[Session, Far]]:
    near, far = channel_pair()
    with anyio.fail_after(5):
        async with near, far, open_session(near, ear or Ear(), **more) as session:
            yield session, Far(far)


async def in_background(tasks: anyio.abc.TaskGroup, session: Session, into: list[Any], **more: Any) -> None:
    """Start a request whose outcome, an exception included, is appended to `into`."""

    async def ask() -> None:
        try:
            into.append(await session.request("a", **more))
        except (McpError, Unreadable, ConnectionLost) as error:
            into.append(error)

    tasks.start_soon(ask)
    await anyio.wait_all_tasks_blocked()


# Asking.


async def test_two_ends_ask_each_other_at_once() -> None:
    near, far = channel_pair()

    async def double(request: Request) -> Any:
        assert request.params
        return request.params["n"] * 2

    results: dict[str, Any] = {}

    async def ask(session: Session, name: str, n: int) -> None:
        results[name] = await session.request("double", {"n": n})

    with anyio.fail_after(5):
        async with (
            near,
            far,
            open_session(near, Ear(double)) as here,
            open_session(far, Ear(double)) as there,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(ask, here, "here", 1)
            tasks.start_soon(ask, there, "there", 2)
    assert results == {"here": 2, "there": 4}


async def test_answers_may_come_in_any_order() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        for _ in range(3):
            await in_background(tasks, session, outcomes)
        await far.say(Result(3, "c"), Result(1, "a"))
        await far.say(Result(2, "b"))
    assert sorted(outcomes) == ["a", "b", "c"]


async def test_an_error_is_raised_where_it_was_asked() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        await in_background(tasks, session, outcomes)
        await far.say(Failure(1, 5, "no", {"why": 1}))
    assert [(e.code, e.message, e.data, str(e)) for e in outcomes] == [(5, "no", {"why": 1}, "no")]


async def test_a_request_carries_what_its_transport_needs() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        await in_background(tasks, session, outcomes, about="theirs", context={"header": "x"})
        assert await far.channel.receive() == Envelope((Request(1, "a"),), about="theirs", context={"header": "x"})
        await session.notify("n", {"x": 1}, about=7)
        assert await far.channel.receive() == Envelope((Notification("n", {"x": 1}),), about=7)
        await far.say(Result(1, None))
    assert outcomes == [None]


async def test_progress_goes_to_whoever_asked_for_it() -> None:
    outcomes: list[Any] = []
    reports: list[Any] = []

    def on_progress(params: dict[str, Any]) -> None:
        reports.append(params)
        raise ZeroDivisionError  # a mistake of the watcher is no reason to stop reading

    async with talking() as (session, far), anyio.create_task_group() as tasks:
        await in_background(tasks, session, outcomes, on_progress=on_progress)
        await in_background(tasks, session, outcomes)
        params = {"progressToken": 1, "progress": 1}
        await far.say(Notification("notifications/progress", params))
        await far.say(Notification("notifications/progress", params | {"progressToken": 2}))
        await far.say(Result(1, "done"), Result(2, "done"))
    assert reports == [params]
    assert outcomes == ["done", "done"]


async def test_a_cancelled_request_is_withdrawn() -> None:
    async with talking() as (session, far):
        with anyio.move_on_after(0.01):
            await session.request("slow")
        assert await far.hear() == Request(1, "slow")
        reason = {"requestId": 1, "reason": "the caller no longer waits"}
        assert await far.hear() == Notification("notifications/cancelled", reason)


async def test_the_handshake_is_never_withdrawn() -> None:
    async with talking() as (session, far):
        with anyio.move_on_after(0.01):
            await session.request("initialize")
        await session.notify("next")
        assert [await far.hear(), await far.hear()] == [Request(1, "initialize"), Notification("next")]


async def test_what_could_not_be_sent_is_not_withdrawn() -> None:
    class Picky(MemoryChannel):
        async def send(self, item: Envelope) -> None:
            if item.messages[0] in (Request(1, "stuck"), Request(2, "odd")):
                raise anyio.BrokenResourceError if item.messages[0].id == 1 else ValueError("no JSON")
            await super().send(item)

    near, far = channel_pair()
    with anyio.fail_after(5):
        async with near, far, open_session(Picky(near._outgoing, near._incoming), Ear()) as session:
            with anyio.move_on_after(0.01):  # it waits to learn why
                await session.request("stuck")
            with pytest.raises(ValueError, match="no JSON"):
                await session.request("odd")
            await session.notify("next")
            assert await Far(far).hear() == Notification("next")


@pytest.mark.parametrize("after", [Garbled(0, "too long", "", lost=True), None])
async def test_what_comes_after_an_answer_in_the_same_read_changes_nothing(after: Garbled | None) -> None:
    class Read(ObjectStream[Any]):
        """Gives what it has without a wait in between; at the end the connection is lost."""

        def __init__(self) -> None:
            self.asked, self.left = anyio.Event(), [Envelope((Result(1, "here"),)), *([after] if after else [])]

        async def send(self, item: Any) -> None:
            self.asked.set()

        async def receive(self) -> Any:
            if not self.asked.is_set():
                await self.asked.wait()
            if self.left:
                return self.left.pop(0)
            raise ConnectionLost("gone")

        async def send_eof(self) -> None: ...

        async def aclose(self) -> None: ...

    with anyio.fail_after(5):
        async with open_session(Read(), Ear()) as session:
            assert await session.request("a") == "here"


async def test_withdrawing_on_a_stuck_connection_takes_bounded_time() -> None:
    class Stuck(ObjectStream[Any]):
        async def send(self, item: Any) -> None:
            await anyio.sleep_forever()

        async def receive(self) -> Any:
            await anyio.sleep_forever()

        async def send_eof(self) -> None: ...

        async def aclose(self) -> None: ...

    with anyio.fail_after(2):
        async with open_session(Stuck(), Ear()) as session:
            with anyio.move_on_after(0.01) as scope:
                await session.request("a")
            assert scope.cancelled_caught


async def test_an_answer_that_crosses_the_cancellation_counts_for_nothing() -> None:
    ear = Ear()
    outcomes: list[Any] = []
    async with talking(ear) as (session, far), anyio.create_task_group() as tasks:
        with anyio.move_on_after(0.01):
            await session.request("slow")
        await far.say(Result(1, "late"), Result(1, "later"), Failure(1, 5, "latest"))
        await in_background(tasks, session, outcomes)
        await far.say(Result(2, "ok"))
    assert (outcomes, ear.troubles) == (["ok"], [])


async def test_an_answer_and_a_cancellation_in_the_same_tick_are_settled_once() -> None:
    async with talking() as (session, far):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                outcomes: list[Any] = []
                await in_background(tasks, session, outcomes)
                await far.say(Result(1, "x"))
                scope.cancel()
        assert await far.hear() == Request(1, "a")
        await session.notify("next")
        while (message := await far.hear()) != Notification("next"):
            assert message == Notification(
                "notifications/cancelled", {"requestId": 1, "reason": "the caller no longer waits"}
            )


# Losing the connection.


async def test_the_end_of_the_stream_fails_what_waits_and_what_comes_later() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far):
        async with anyio.create_task_group() as tasks:
            await in_background(tasks, session, outcomes)
            await in_background(tasks, session, outcomes)
            await far.channel.send_eof()
        await session.closed.wait()
        with pytest.raises(ConnectionLost, match=r"The connection is closed\."):
            await session.request("b")
        await session.notify("pointless")
    assert [str(error) for error in outcomes] == ["The connection is closed."] * 2
    assert outcomes[0] is not outcomes[1]


class Dying(ObjectStream[Any]):
    """Sending breaks; the reason is known a little later, if ever."""

    def __init__(self, reason: str | None) -> None:
        self.reason, self.asked = reason, anyio.Event()

    async def send(self, item: Any) -> None:
        self.asked.set()
        raise anyio.BrokenResourceError

    async def receive(self) -> Any:
        await self.asked.wait()
        if self.reason is None:
            await anyio.sleep_forever()
        raise ConnectionLost(self.reason)

    async def send_eof(self) -> None: ...

    async def aclose(self) -> None: ...


@pytest.mark.parametrize(("known", "told"), [("It exited.", "It exited."), (None, "The connection is closed.")])
async def test_when_sending_breaks_the_reason_is_what_the_reader_learns(
    known: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.mcp.session.REASON_SECONDS", 0.05)
    with anyio.fail_after(5):
        async with open_session(Dying(known), Ear()) as session:
            with pytest.raises(ConnectionLost) as caught:
                await session.request("a")
    assert str(caught.value) == told


async def test_a_stream_of_one_request_may_end_by_itself() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        for _ in range(3):
            await in_background(tasks, session, outcomes)
        await far.put(Closed(2))
        await far.put(Closed(2))
        await far.put(Closed("unknown"))
        await far.put(Closed(3, McpError(-32000, "404")))
        await far.say(Result(1, "ok"))
    assert [str(outcome) for outcome in outcomes] == ["The stream closed without an answer.", "404", "ok"]


# Answering.


async def test_a_handler_sees_the_request_and_its_context() -> None:
    ear = Ear()
    async with talking(ear) as (_, far):
        await far.say(Request("q", "a"), context={"authorization": "x"})
        assert await far.hear() == Result("q", {})
    assert ear.contexts == [{"authorization": "x"}]


async def test_an_answer_travels_on_the_stream_of_its_request() -> None:
    async with talking() as (_, far):
        await far.say(Request("q", "a"))
        assert await far.channel.receive() == Envelope((Result("q", {}),), about="q")


async def test_a_handler_may_refuse() -> None:
    async def refuse(request: Request) -> Any:
        raise McpError(-1, "no", {"why": 1})

    async with talking(Ear(refuse)) as (_, far):
        await far.say(Request(1, "a"))
        assert await far.hear() == Failure(1, -1, "no", {"why": 1})


async def test_what_goes_wrong_in_a_handler_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: Request) -> Any:
        raise ZeroDivisionError("secret")

    async with talking(Ear(fail)) as (_, far):
        await far.say(Request(1, "a"))
        assert await far.hear() == Failure(1, INTERNAL_ERROR, "Internal error")
    assert "handling a" in caplog.text


async def test_a_result_that_json_has_no_words_for_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    async def strange(request: Request) -> Any:
        return object()

    async with talking(Ear(strange)) as (_, far):
        await far.say(Request(1, "a"))
        assert await far.hear() == Failure(1, INTERNAL_ERROR, "Internal error")
    assert "writing the answer to 1" in caplog.text


async def test_a_handler_may_ask_back_before_it_answers() -> None:
    async def ask_back(request: Request) -> Any:
        return await session.request("back")

    ear = Ear(ask_back)
    async with talking(ear) as (session, far):
        await far.say(Request("q", "a"))
        assert await far.hear() == Request(1, "back")
        await far.say(Result(1, "there"))
        assert await far.hear() == Result("q", "there")


async def test_a_withdrawn_handler_is_cancelled_and_answers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "agent.mcp.inbound")
    ended = anyio.Event()

    async def slow(request: Request) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with talking(Ear(slow)) as (session, far):
        await far.say(Request("q", "a"))
        await anyio.wait_all_tasks_blocked()
        await far.say(Notification("notifications/cancelled", {"requestId": "q", "reason": "bored"}))
        await ended.wait()
        await session.idle()
        await session.notify("next")
        assert await far.hear() == Notification("next")
    assert caplog.messages == ["request 'q' was withdrawn: bored"]


async def test_a_handler_that_finishes_in_the_tick_it_is_withdrawn_answers_nothing() -> None:
    go = anyio.Event()

    async def stubborn(request: Request) -> Any:
        with anyio.CancelScope(shield=True):
            await go.wait()
        return "too late"

    async with talking(Ear(stubborn)) as (session, far):
        await far.say(Request("q", "a"))
        await anyio.wait_all_tasks_blocked()
        await far.say(Notification("notifications/cancelled", {"requestId": "q"}))
        await anyio.wait_all_tasks_blocked()
        go.set()
        await session.idle()
        await session.notify("next")
        assert await far.hear() == Notification("next")


async def test_an_id_may_be_used_again_while_its_withdrawn_handler_still_unwinds() -> None:
    release = anyio.Event()
    calls: list[str] = []

    async def handle(request: Request) -> Any:
        calls.append(request.method)
        if request.method == "first":
            with anyio.CancelScope(shield=True):
                await release.wait()
        return request.method

    async with talking(Ear(handle)) as (session, far):
        await far.say(Request("q", "first"))
        await anyio.wait_all_tasks_blocked()
        await far.say(Notification("notifications/cancelled", {"requestId": "q"}), Request("q", "second"))
        assert await far.hear() == Result("q", "second")
        release.set()
        await session.idle()
        await far.say(Request("q", "third"))
        assert await far.hear() == Result("q", "third")
    assert calls == ["first", "second", "third"]


async def test_a_duplicate_id_is_refused_by_the_reader_itself() -> None:
    go = anyio.Event()

    async def wait(request: Request) -> Any:
        await go.wait()
        return "done"

    async with talking(Ear(wait)) as (_, far):
        await far.say(Request("q", "a"), Request("q", "b"))
        assert await far.hear() == Failure("q", INVALID_REQUEST, "request id 'q' is in use")
        go.set()
        assert await far.hear() == Result("q", "done")


async def test_idle_waits_for_the_last_handler() -> None:
    go = anyio.Event()

    async def wait(request: Request) -> Any:
        await go.wait()

    idle: list[str] = []

    async def watch(session: Session) -> None:
        await session.idle()
        idle.append("idle")

    async with talking(Ear(wait)) as (session, far), anyio.create_task_group() as tasks:
        await session.idle()
        await far.say(Request(1, "a"), Request(2, "a"))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(watch, session)
        await anyio.wait_all_tasks_blocked()
        assert idle == []
        go.set()
        await far.hear()
        await far.hear()
    assert idle == ["idle"]


async def test_leaving_stops_handlers_and_answers_nothing_more() -> None:
    ended = anyio.Event()

    async def slow(request: Request) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with talking(Ear(slow)) as (_, far):
        await far.say(Request("q", "a"))
        await anyio.wait_all_tasks_blocked()
    assert ended.is_set()


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with talking():
            raise KeyError


# Notifications, and what is no message.


async def test_notifications_come_in_order_and_a_bad_listener_does_not_end_the_reader(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ear = Ear()
    notes = [Notification("one"), Notification("bad"), Notification("notifications/cancelled", {"requestId": 5})]
    async with talking(ear) as (_, far):
        await far.say(*notes)
        await far.say(Request(1, "a"))
        await far.hear()
    assert ear.heard == notes
    assert "in a callback" in caplog.text


async def test_an_answer_to_nothing_is_trouble_and_no_more() -> None:
    ear = Ear()
    async with talking(ear) as (_, far):
        await far.say(Result(99, "x"), Request(1, "a"))
        assert await far.hear() == Result(1, {})
    assert ear.troubles == [Stray(Result(99, "x"))]


async def test_a_server_refuses_garbage_and_goes_on() -> None:
    ear = Ear()
    broken = Garbled(PARSE_ERROR, "not JSON", "this is not JSON")
    no_params = Garbled(INVALID_REQUEST, "params must be an object", "{", 7, "request")
    answer = Garbled(INVALID_REQUEST, "no", "{", 8, "answer")
    async with talking(ear, refuses_garbage=True) as (_, far):
        for item in (broken, no_params, answer):
            await far.put(item)
        assert [await far.hear(), await far.hear(), await far.hear()] == [
            Failure(None, PARSE_ERROR, "not JSON"),
            Failure(7, INVALID_REQUEST, "params must be an object"),
            Failure(None, INVALID_REQUEST, "no"),
        ]
        await far.say(Request(1, "a"))
        assert await far.hear() == Result(1, {})
    assert ear.troubles == [broken, no_params, answer]


async def test_a_client_refuses_only_what_was_a_request() -> None:
    request = Garbled(INVALID_REQUEST, "too long", "{", "q", "request", lost=True)
    async with talking() as (session, far):
        await far.put(Garbled(PARSE_ERROR, "not JSON", "noise"))
        await far.put(request)
        assert await far.hear() == Failure("q", INVALID_REQUEST, "too long")
        await session.notify("next")
        assert await far.hear() == Notification("next")


@pytest.mark.parametrize(
    ("item", "failed"),
    [
        (Garbled(PARSE_ERROR, "noise", "x"), []),
        (Garbled(PARSE_ERROR, "cut", "{", 2, "answer"), [2]),
        (Garbled(PARSE_ERROR, "cut", "{", 99, "answer"), []),
        (Garbled(PARSE_ERROR, "too long", "{", 2, "answer", lost=True), [2]),
        (Garbled(PARSE_ERROR, "too long", "{", 99, "answer", lost=True), []),
        (Garbled(PARSE_ERROR, "too long", "{", lost=True), [1, 2, 3]),
    ],
)
async def test_an_unreadable_answer_fails_the_calls_it_may_belong_to(item: Garbled, failed: list[int]) -> None:
    outcomes: list[Any] = []
    ear = Ear()
    async with talking(ear) as (session, far), anyio.create_task_group() as tasks:
        for _ in range(3):
            await in_background(tasks, session, outcomes)
        await far.put(item)
        await anyio.wait_all_tasks_blocked()
        assert [str(o) for o in outcomes] == [f"The answer could not be read: {item.reason}."] * len(failed)
        assert all(isinstance(outcome, Unreadable) for outcome in outcomes)
        await far.say(*[Result(id, "ok") for id in (1, 2, 3)])
    assert [outcome for outcome in outcomes if outcome == "ok"] == ["ok"] * (3 - len(failed))
    assert ear.troubles == [item]


async def test_refusing_a_peer_that_does_not_read_does_not_stop_the_reader() -> None:
    ear = Ear()
    near, far = channel_pair()
    with anyio.fail_after(5):
        async with near, far, open_session(near, ear, refuses_garbage=True) as session:
            for _ in range(64):
                await session.notify("fill")
            await far._outgoing.send(Garbled(PARSE_ERROR, "not JSON", "x"))
            await far.send(Envelope((Notification("after"),)))
            while not ear.heard:  # noqa: ASYNC110 — the reader's own bound ends it
                await anyio.sleep(0.01)
    assert ear.heard == [Notification("after")]


# Batches.


async def test_a_batch_is_answered_by_one_array_when_its_last_request_is_done() -> None:
    slow = anyio.Event()

    async def answer(request: Request) -> Any:
        if request.id == "slow":
            await slow.wait()
        if request.method == "bad":
            raise McpError(5, "no")
        return request.method

    async with talking(Ear(answer)) as (_, far):
        await far.say(Request("slow", "a"), Notification("n"), Request(2, "b"), Request(3, "bad"), batch=True)
        await far.say(Request(4, "c"))
        assert await far.hear() == Result(4, "c")
        slow.set()
        answers = await far.channel.receive()
    assert answers == Envelope((Result(2, "b"), Failure(3, 5, "no"), Result("slow", "a")), batch=True)


async def test_what_is_withdrawn_from_a_batch_is_missing_in_its_answer() -> None:
    async def answer(request: Request) -> Any:
        if request.method == "for ever":
            await anyio.sleep_forever()
        return {}

    async with talking(Ear(answer)) as (_, far):
        await far.say(Request(1, "for ever"), Request(2, "a"), batch=True)
        await far.say(Request(3, "for ever"), Request(4, "for ever"), batch=True)
        for id in (1, 3, 4):
            await far.say(Notification("notifications/cancelled", {"requestId": id}))
        assert await far.channel.receive() == Envelope((Result(2, {}),), batch=True)
        await far.say(Request(5, "a"))
        assert await far.hear() == Result(5, {})


async def test_an_id_withdrawn_from_a_batch_may_be_used_again_at_once_and_costs_no_answer() -> None:
    async def answer(request: Request) -> Any:
        return await anyio.sleep_forever() if request.method == "for ever" else {}

    async with talking(Ear(answer)) as (_, far):
        await far.say(Request(1, "for ever"), Request(2, "a"), batch=True)
        await anyio.wait_all_tasks_blocked()
        cancelled = Notification("notifications/cancelled", {"requestId": 1})
        await far.say(cancelled, Request(1, "a"), Request(3, "a"), batch=True)
        answers = [await far.channel.receive(), await far.channel.receive()]
    first, second = Envelope((Result(2, {}),), batch=True), Envelope((Result(1, {}), Result(3, {})), batch=True)
    assert answers in ([first, second], [second, first])


@pytest.mark.parametrize("depth", [300, 3_000])
async def test_an_answer_nested_too_deeply_to_be_written_is_a_failure_of_its_request_alone(depth: int) -> None:
    async def answer(request: Request) -> Any:
        value: list[Any] = []
        for _ in range(depth if request.method == "deep" else 0):
            value = [value]
        return value

    async with talking(Ear(answer)) as (_, far):
        await far.say(Request(1, "deep"))
        assert await far.hear() == Failure(1, INTERNAL_ERROR, "Internal error")
        await far.say(Request(2, "flat"))
        assert await far.hear() == Result(2, [])


async def test_one_answer_of_a_batch_that_cannot_be_written_does_not_cost_the_others() -> None:
    async def answer(request: Request) -> Any:
        return object() if request.id == 1 else {}

    async with talking(Ear(answer)) as (_, far):
        await far.say(Request(1, "a"), Request(2, "a"), batch=True)
        assert [await far.hear(), await far.hear()] == [Failure(1, INTERNAL_ERROR, "Internal error"), Result(2, {})]


async def test_the_answers_to_our_own_requests_may_come_in_a_batch() -> None:
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        for _ in range(2):
            await in_background(tasks, session, outcomes)
        await far.say(Result(2, "b"), Result(1, "a"), batch=True)
    assert sorted(outcomes) == ["a", "b"]


async def test_no_session_begins_in_a_batch() -> None:
    async with talking() as (_, far):
        await far.say(Request(1, "initialize", {}), Request(2, "ping"), batch=True)
        assert await far.hear() == Failure(1, INVALID_REQUEST, "A session does not begin in a batch.")
        assert await far.channel.receive() == Envelope((Result(2, {}),), batch=True)


async def test_where_the_revision_has_no_batches_a_server_refuses_one_and_a_client_makes_the_best_of_it() -> None:
    async with talking(refuses_garbage=True, batching=lambda: False) as (_, far):
        await far.say(Request(1, "a"), Request(2, "b"), batch=True)
        assert await far.hear() == Failure(None, INVALID_REQUEST, "This revision of the protocol has no batches.")
    async with talking(batching=lambda: False) as (_, far):
        await far.say(Request(1, "a"), Request(2, "b"), batch=True)
        assert [await far.hear(), await far.hear()] == [Result(1, {}), Result(2, {})]


# The stateless era.


async def test_a_client_that_only_asks_does_not_answer() -> None:
    ear = Ear()
    async with talking(ear) as (session, far):
        session.stop_answering()
        await far.say(Request(1, "ping"), Notification("n"))
        await far.put(Garbled(INVALID_REQUEST, "bad", "{", 7, "request"))
        await session.notify("last")
        assert await far.hear() == Notification("last")
    assert ear.heard == [Notification("n")]


async def test_whoever_sends_hears_the_id_first_and_the_first_sign_of_life_is_noted() -> None:
    ids: list[Any] = []
    outcomes: list[Any] = []
    async with talking() as (session, far), anyio.create_task_group() as tasks:
        await in_background(tasks, session, outcomes, on_sending=ids.append)
        assert (ids, session.heard.is_set()) == ([1], False)
        await far.say(Notification("n"))
        await session.heard.wait()
        await far.say(Result(1, None))
    async with talking() as (session, far):
        await far.channel.aclose()
        await session.heard.wait()
