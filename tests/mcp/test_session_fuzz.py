"""A session that hears anything: all is settled, and nothing is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.abc import ObjectStream
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.envelope import ConnectionLost, Envelope, Garbled, Inbound
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.framing import to_line
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.session import Session, open_session
from tests.mcp.anything import arrivals, dose, ids, messages, nested

pytestmark = pytest.mark.usefixtures("quiet")


class Wire(ObjectStream[Any]):
    """What a session hears is put in by hand; what it says is written as JSON, and kept."""

    def __init__(self) -> None:
        self.put, self._heard = anyio.create_memory_object_stream[Inbound](10_000)
        self.said: list[Message] = []
        self.is_broken = False

    async def send(self, item: Envelope) -> None:
        await checkpoint()
        if self.is_broken:
            raise anyio.BrokenResourceError
        to_line(item)
        self.said += item.messages

    async def receive(self) -> Any:
        return await self._heard.receive()

    async def send_eof(self) -> None:
        self.put.close()

    async def aclose(self) -> None:
        self.put.close()
        self._heard.close()


class Moody:
    """A handler that does with a request what its method says."""

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        match request.method:
            case "hang":
                await anyio.sleep_forever()
            case "raise":
                raise ZeroDivisionError
            case "refuse":
                raise McpError(-32602, "no", request.params)
            case "wordless":
                return object()
            case "deep":
                return nested(2_000)
        await checkpoint()
        return request.params

    def on_notification(self, notification: Notification) -> None:
        if notification.method == "raise":
            raise ZeroDivisionError

    def on_trouble(self, trouble: Any) -> None:
        raise ZeroDivisionError


positions = st.integers(0, 1_000)
moods = st.sampled_from(["answer", "hang", "raise", "refuse", "wordless", "deep", "initialize"])
steps = st.lists(
    arrivals(messages(st.integers(1, 3) | ids, moods))
    | st.tuples(st.just("ask"), st.booleans())
    | st.tuples(st.just("drop"), positions)
    | st.tuples(st.just("turn"), st.integers(1, 5)),
    max_size=25,
)


class Scene:
    """One session, those who ask in it, and what becomes of them."""

    def __init__(self, session: Session, wire: Wire) -> None:
        self.session, self.wire = session, wire
        self.scopes: list[anyio.CancelScope] = []
        self.settled = 0

    async def ask(self, with_progress: bool) -> None:
        with anyio.CancelScope() as scope:
            self.scopes.append(scope)
            with suppress(McpError, Unreadable, ConnectionLost, ValueError):  # the last is what `Closed` brings
                await self.session.request("a", on_progress=(lambda _: 1 // 0) if with_progress else None)
        self.settled += 1

    async def take(self, step: Any, tasks: anyio.abc.TaskGroup) -> None:
        match step:
            case "ask", with_progress:
                tasks.start_soon(self.ask, with_progress)
            case "drop", which if self.scopes:
                self.scopes[which % len(self.scopes)].cancel()
            case "turn", times:
                for _ in range(times):
                    await checkpoint()
            case tuple():
                pass
            case heard:
                self.wire.put.send_nowait(heard)

    async def end(self) -> None:
        """Withdraw what hangs, and wait until all else is answered."""
        await self.reach("all is heard")
        for id in list(self.session._peer._owing):
            self.wire.put.send_nowait(Envelope((withdrawal(id),)))
        await self.reach("all is withdrawn")
        await within_turns(lambda: not self.session._inbound._running)

    async def reach(self, mark: str) -> None:
        """The reader serves on, and has come so far."""
        self.wire.put.send_nowait(Envelope((Request(mark, "answer", {"a": 1}),)))
        await within_turns(lambda: Result(mark, {"a": 1}) in self.wire.said)


async def within_turns(is_so: Callable[[], bool]) -> None:
    """Wait by the turns of the loop: what takes no time must not take many."""
    for _ in range(TURNS):
        if is_so():
            return
        await checkpoint()
    raise AssertionError("it waits for what will never be")


TURNS = 500
MARKS = ("all is heard", "all is withdrawn")


def withdrawal(id: RequestId) -> Notification:
    return Notification("notifications/cancelled", {"requestId": id})


def owed(steps: list[Any], hears_batches: bool) -> set[RequestId]:
    """The ids of requests that must be answered, whatever else is said: they were used once, and never withdrawn."""
    heard = [step for step in steps if isinstance(step, Envelope) and (hears_batches or not step.batch)]
    said = [message for item in heard for message in item.messages]
    times = asked(steps)
    withdrawn = [(note.params or {}).get("requestId") for note in said if isinstance(note, Notification)]
    requests = [message for message in said if isinstance(message, Request) and message.method != "hang"]
    return {request.id for request in requests if times[request.id] == 1 and request.id not in withdrawn}


def asked(steps: list[Any]) -> Counter[RequestId]:
    """How many requests were heard under an id, readable or not."""
    said = [message for step in steps if isinstance(step, Envelope) for message in step.messages]
    garbled = [step.id for step in steps if isinstance(step, Garbled) and step.kind == "request"]
    return Counter(
        [message.id for message in said if isinstance(message, Request)] + [id for id in garbled if id is not None]
    )


@dose(1)
@given(steps, st.booleans(), st.booleans(), st.booleans())
def test_a_session_that_hears_anything_serves_on_and_leaves_nobody_waiting(
    steps: list[Any], refuses_garbage: bool, has_batches: bool, breaks: bool
) -> None:
    async def play() -> None:
        wire = Wire()
        async with (
            anyio.create_task_group() as tasks,
            open_session(wire, Moody(), refuses_garbage=refuses_garbage, batching=lambda: has_batches) as session,
        ):
            scene = Scene(session, wire)
            for step in steps:
                await scene.take(step, tasks)
            await scene.end()
            _expect_answers(steps, wire, hears_batches=has_batches or not refuses_garbage)
            _expect_nothing_kept(session)
            wire.is_broken = breaks
            await wire.send_eof()
            await session.closed.wait()
            await within_turns(lambda: scene.settled == len(scene.scopes))
            assert session._waiters == {}
            await wire.aclose()

    async def play_in_time() -> None:
        with anyio.fail_after(10):
            await play()

    anyio.run(play_in_time)


def _expect_answers(steps: list[Any], wire: Wire, hears_batches: bool) -> None:
    said = Counter(message.id for message in wire.said if isinstance(message, Result | Failure))
    times = asked(steps)
    assert {id: said[id] for id in owed(steps, hears_batches)} == dict.fromkeys(owed(steps, hears_batches), 1)
    assert all(said[id] <= times[id] for id in said if id is not None and id not in MARKS)


def _expect_nothing_kept(session: Session) -> None:
    handling = session._inbound
    assert (session._peer._owing, handling._scopes) == (set(), {})
    assert set(session._waiters) == session._peer._awaiting
