from __future__ import annotations

import itertools
from collections.abc import Iterable

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.events import (
    Event,
    Noticed,
    QuestionAsked,
    QuestionSettled,
    ServerChanged,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolProgressed,
    TurnEnded,
)
from agent.chat.messages import Stop, ToolCall, ToolResult
from agent.chat.outbox import NOTICES_KEPT, Item, Outbox, Pending
from agent.chat.questions import Answer, FillForm, Question

pytestmark = pytest.mark.anyio

ONE, TWO = ToolCall.parse("1", "add", "{}"), ToolCall.parse("2", "add", "{}")
FORM = FillForm("trains", "Which seat?", {})
YES, NO = Answer("accept", {"seat": 4}), Answer("decline", why="not now")


def filled(events: Iterable[Event]) -> Outbox:
    outbox = Outbox()
    for event in events:
        outbox.emit(event)
    return outbox


def progress(call: ToolCall, done: float) -> ToolProgressed:
    return ToolProgressed(call, done, None, "")


def finished(call: ToolCall) -> ToolFinished:
    return ToolFinished(call, "sums", "add", ToolResult(call.id, ()), 0.0)


def notice(number: int, server: str = "noisy") -> Noticed:
    return Noticed(server, "info", str(number))


async def next_item(outbox: Outbox) -> Item:
    with anyio.fail_after(5):
        return await anext(outbox.items)


async def next_question(outbox: Outbox) -> Pending:
    while not isinstance(item := await next_item(outbox), Pending):
        pass
    return item


async def test_neighbouring_text_is_joined_with_its_own_kind_and_origin_only() -> None:
    said = [
        TextArrived("a"), TextArrived("b"),
        TextArrived("c", "trains"), TextArrived("d", "trains"),
        ThinkingArrived("e", "trains"), ThinkingArrived("f"), ThinkingArrived("g"),
        TextArrived("h"), TurnEnded(Stop.END), TextArrived("i"),
    ]  # fmt: skip
    assert filled(said).drain() == [
        TextArrived("ab"),
        TextArrived("cd", "trains"),
        ThinkingArrived("e", "trains"),
        ThinkingArrived("fg"),
        TextArrived("h"),
        TurnEnded(Stop.END),
        TextArrived("i"),
    ]


async def test_text_that_was_read_is_not_joined_any_more() -> None:
    outbox = filled([TextArrived("a")])
    assert outbox.drain() == [TextArrived("a")]
    outbox.emit(TextArrived("b"))
    assert outbox.drain() == [TextArrived("b")]


async def test_of_each_call_the_newest_progress_is_kept_at_the_place_of_the_first() -> None:
    outbox = filled([progress(ONE, 1), progress(TWO, 1), progress(ONE, 2), TextArrived("x"), progress(ONE, 3)])
    assert outbox.drain() == [progress(ONE, 3), progress(TWO, 1), TextArrived("x")]
    outbox.emit(progress(ONE, 4))
    assert outbox.drain() == [progress(ONE, 4)]


async def test_progress_stays_before_the_end_of_its_call() -> None:
    outbox = filled([progress(ONE, 1), finished(ONE), progress(ONE, 9), progress(ONE, 10), finished(TWO)])
    assert outbox.drain() == [progress(ONE, 1), finished(ONE), progress(ONE, 10), finished(TWO)]
    outbox.emit(progress(ONE, 11))
    assert outbox.drain() == [progress(ONE, 11)]


async def test_beyond_the_limit_notices_are_counted() -> None:
    outbox = filled([*map(notice, range(NOTICES_KEPT)), notice(-1), TextArrived("x"), notice(-2, "louder")])
    assert outbox.drain() == [
        *map(notice, range(NOTICES_KEPT)),
        TextArrived("x"),
        Noticed("", "warning", "2 more notices were dropped, the last from louder."),
    ]
    outbox.emit(notice(1))
    assert outbox.drain() == [notice(1)]


async def test_our_own_dropped_notices_are_counted_too() -> None:
    *_, last = filled(notice(number, "") for number in range(NOTICES_KEPT + 1)).drain()
    assert last == Noticed("", "warning", "1 more notices were dropped, the last from here.")


async def test_reading_makes_room_for_notices() -> None:
    outbox = filled(map(notice, range(NOTICES_KEPT)))
    for number in range(NOTICES_KEPT, 2 * NOTICES_KEPT):
        assert await next_item(outbox) == notice(number - NOTICES_KEPT)
        outbox.emit(notice(number))
    assert outbox.drain() == [*map(notice, range(NOTICES_KEPT, 2 * NOTICES_KEPT))]


CALLS = st.sampled_from([ONE, TWO])
EVENTS = st.one_of(
    st.builds(TextArrived, st.text(max_size=3), st.sampled_from(["", "trains"])),
    st.builds(ThinkingArrived, st.text(max_size=3), st.sampled_from(["", "trains"])),
    st.builds(progress, CALLS, st.integers(0, 9)),
    st.builds(finished, CALLS),
    st.builds(notice, st.integers()),
    st.builds(ServerChanged, st.sampled_from("ab"), st.just("ready")),
)


def texts(events: Iterable[Item]) -> list[tuple[type, str, str]]:
    """What was said, by runs of one kind and origin; other events part the runs, and empty text says nothing."""
    runs: list[tuple[type, str, str]] = []
    for (kind, origin), run in itertools.groupby(events, lambda event: (type(event), getattr(event, "origin", ""))):
        if kind in (TextArrived, ThinkingArrived):
            runs.append((kind, origin, "".join(event.text for event in run)))  # type: ignore[union-attr]
    return runs


@given(st.lists(EVENTS | st.none(), max_size=30))
def test_whatever_is_emitted_nothing_is_lost_and_the_order_is_kept(script: list[Event | None]) -> None:
    """None stands for a reader who catches up."""
    outbox, read = Outbox(), []
    for event in script:
        if event is None:
            read += outbox.drain()
        else:
            outbox.emit(event)
    read += outbox.drain()
    emitted = [event for event in script if event is not None]
    facts = (ToolFinished, Noticed, ServerChanged)
    assert [e for e in read if isinstance(e, facts)] == [e for e in emitted if isinstance(e, facts)]
    spoken = (TextArrived, ThinkingArrived)
    assert texts(e for e in read if isinstance(e, spoken)) == texts(e for e in emitted if isinstance(e, spoken))
    for call in (ONE, TWO):
        steps = [e for e in emitted if isinstance(e, ToolProgressed) and e.call == call]
        shown = [e for e in read if isinstance(e, ToolProgressed) and e.call == call]
        assert shown[-1:] == steps[-1:]
        assert len(shown) <= len(steps)


class Counted(str):
    """A text that counts the characters copied by joining it to another with `+`."""

    __slots__ = ()
    copied = 0

    def __add__(self, other: str) -> str:
        Counted.copied += len(self) + len(other)
        return Counted(str.__add__(self, other))

    def __radd__(self, other: str) -> str:
        Counted.copied += len(self) + len(other)
        return Counted(str.__add__(other, self))


async def test_a_long_answer_in_single_characters_is_copied_once() -> None:
    Counted.copied = 0
    outbox = filled(TextArrived(Counted("x")) for _ in range(200_000))
    assert outbox.drain() == [TextArrived("x" * 200_000)]
    assert Counted.copied == 0


async def test_the_reader_waits_for_what_comes_and_ends_with_the_outbox() -> None:
    outbox, read = Outbox(), []

    async def reader() -> None:
        read.extend([item async for item in outbox.items])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader)
            for piece in "ab":
                await anyio.wait_all_tasks_blocked()
                outbox.emit(TextArrived(piece))
            await anyio.wait_all_tasks_blocked()
            outbox.emit(TurnEnded(Stop.END))
            outbox.close()
    assert read == [TextArrived("a"), TextArrived("b"), TurnEnded(Stop.END)]


async def test_after_the_end_nothing_is_taken_any_more() -> None:
    outbox = Outbox()
    outbox.close()
    outbox.emit(TextArrived("late"))
    with anyio.fail_after(5):
        assert await outbox.ask(FORM) == Answer("cancel", why="nobody is there to ask")
        assert [item async for item in outbox.items] == []


class TestAsking:
    async def ask(self, outbox: Outbox, *replies: Answer) -> tuple[Answer, list[Item]]:
        """The answer, and everything the reader saw after the question."""
        answers: list[Answer] = []

        async def asker() -> None:
            answers.append(await outbox.ask(FORM))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asker)
                pending = await next_question(outbox)
                assert (pending.question, pending.open) == (FORM, True)
                for reply in replies:
                    pending.reply(reply)
                assert not pending.open
        return answers[0], outbox.drain()

    async def test_the_first_reply_settles_it(self) -> None:
        answer, seen = await self.ask(Outbox(), NO, YES)
        assert (answer, seen) == (NO, [QuestionSettled(FORM, "decline", "person", "not now")])

    async def test_a_question_keeps_its_place_among_the_events(self) -> None:
        outbox = filled([TextArrived("a")])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outbox.ask, FORM)
            await anyio.wait_all_tasks_blocked()
            outbox.emit(TextArrived("b"))
            first, asked, pending, last = outbox.drain()
            assert (first, asked, last) == (TextArrived("a"), QuestionAsked(FORM), TextArrived("b"))
            assert isinstance(pending, Pending)
            pending.reply(YES)

    async def test_a_policy_answers_at_once_and_nothing_is_pending(self) -> None:
        outbox = Outbox(lambda question: NO if question == FORM else None)
        with anyio.fail_after(5):
            assert await outbox.ask(FORM) == NO
        assert outbox.drain() == [QuestionAsked(FORM), QuestionSettled(FORM, "decline", "policy", "not now")]

    async def test_a_policy_that_does_not_know_leaves_it_to_the_reader(self) -> None:
        asked: list[Question] = []
        answer, seen = await self.ask(Outbox(asked.append), YES)
        assert (answer, seen, asked) == (YES, [QuestionSettled(FORM, "accept", "person")], [FORM])

    @pytest.mark.parametrize("read_before", [True, False])
    async def test_an_asker_who_is_cancelled_withdraws_the_question(self, read_before: bool) -> None:
        outbox = Outbox()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outbox.ask, FORM)
                await anyio.wait_all_tasks_blocked()
                early = outbox.drain() if read_before else []
                tasks.cancel_scope.cancel()
        asked, pending, settled = early + outbox.drain()
        assert (asked, settled) == (QuestionAsked(FORM), QuestionSettled(FORM, "cancel", "withdrawn"))
        assert isinstance(pending, Pending)
        assert pending.withdrawn.is_set()
        pending.reply(YES)
        assert (pending.open, pending.answer) == (False, None)

    async def test_several_may_ask_at_once_and_each_gets_its_own_answer(self) -> None:
        outbox, answers = Outbox(), {}

        async def asker(name: str) -> None:
            answers[name] = await outbox.ask(FillForm(name, "?", {}))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for name in "abc":
                    tasks.start_soon(asker, name)
                pending = [await next_question(outbox) for _ in "abc"]
                for question in reversed(pending):
                    question.reply(Answer("accept", {"name": question.question.server}))
        assert answers == {name: Answer("accept", {"name": name}) for name in "abc"}

    async def test_closing_answers_what_waits_unread(self) -> None:
        outbox, answers = Outbox(), []

        async def asker() -> None:
            answers.append(await outbox.ask(FORM))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asker)
                await anyio.wait_all_tasks_blocked()
                outbox.emit(TextArrived("last"))
                outbox.close()
        assert answers == [Answer("cancel", why="nobody is there to ask")]
        asked, pending, last, settled = [item async for item in outbox.items]
        assert (asked, last) == (QuestionAsked(FORM), TextArrived("last"))
        assert settled == QuestionSettled(FORM, "cancel", "withdrawn", "nobody is there to ask")
        assert isinstance(pending, Pending)
        assert not pending.open

    async def test_closing_answers_what_a_reader_took_and_died_over(self) -> None:
        outbox, answers = Outbox(), []

        async def asker() -> None:
            answers.append(await outbox.ask(FORM))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asker)
                pending = await next_question(outbox)
                outbox.close()
                outbox.close()
        assert answers == [Answer("cancel", why="nobody is there to ask")]
        assert not pending.open
        assert outbox.drain() == [QuestionSettled(FORM, "cancel", "withdrawn", "nobody is there to ask")]

    async def test_a_reply_just_before_the_end_is_reported_as_what_it_was(self) -> None:
        outbox, answers = Outbox(), []

        async def asker() -> None:
            answers.append(await outbox.ask(FORM))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asker)
                pending = await next_question(outbox)
                pending.reply(YES)
                outbox.close()
        assert answers == [YES]
        assert outbox.drain() == [QuestionSettled(FORM, "accept", "person")]
