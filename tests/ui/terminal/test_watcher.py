from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from agent.chat.events import (
    MessageFinished,
    Noticed,
    QuestionSettled,
    Retrying,
    SampleFinished,
    ServerChanged,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, ToolResult, Usage, user
from agent.chat.outbox import Outbox
from agent.chat.provider import Request
from agent.chat.questions import Answer, ApproveSampling, ApproveTool, FillForm, OpenUrl, ShareRoots
from agent.ui.terminal.paint import Painter
from agent.ui.terminal.watcher import Watcher
from tests.ui.terminal.canvas import Stage, stage

pytestmark = pytest.mark.anyio

CALL = ToolCall("c1", "demo__add", {"a": 3, "b": 5})
DONE = ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text("8"),)), 0.02)


@asynccontextmanager
async def watched(columns: int = 60) -> AsyncIterator[tuple[Stage, Outbox, Watcher]]:
    async with stage(columns=columns) as on, anyio.create_task_group() as tasks:
        outbox = Outbox()
        watcher = Watcher(on.screen, Painter(color=False), on.screen.refresh)
        tasks.start_soon(watcher.follow, outbox)
        yield on, outbox, watcher
        tasks.cancel_scope.cancel()


async def test_a_turn_as_it_stands_on_the_screen_cell_by_cell() -> None:
    async with watched() as (on, outbox, watcher):
        outbox.emit(TurnStarted(user("what is 3 + 5?")))
        outbox.emit(ToolStarted(CALL, "demo", "add"))
        outbox.emit(ToolProgressed(CALL, 1, 4, "halfway"))
        await on.canvas.shows(
            "",
            "› what is 3 + 5?",
            "◌ █████░░░░░░░░░░░░░░░  25% demo/add(a=3, b=5) halfway",
            "›",
            "  status",
        )
        outbox.emit(DONE)
        outbox.emit(TextArrived("It is **8**.\n\n- 日本語\n- two\n\nAnd "))
        outbox.emit(TextArrived("so"))
        before = ["", "› what is 3 + 5?", "● demo/add(a=3, b=5)", "  └ 8", "", "It is 8.", "", " • 日本語", " • two"]
        await on.canvas.shows(*before, "And so", "›", "  status")
        outbox.emit(MessageFinished(AssistantMessage(()), Usage(10, 4), "m"))
        outbox.emit(TurnEnded(Stop.END))
        await on.canvas.shows(*before, "", "And so", "›", "  status")
        assert (watcher.usage, watcher.turns) == (Usage(10, 4), 1)


async def test_nobody_waits_for_a_screen_that_is_not_brought_up_to_date_any_more() -> None:
    async with watched() as (_, outbox, watcher), anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.caught_up, 1)
        await anyio.wait_all_tasks_blocked()
        outbox.close()
    with anyio.fail_after(5):
        await watcher.caught_up(1)


async def test_what_is_finished_is_never_drawn_again() -> None:
    async with watched() as (on, outbox, _):
        for word in ("one ", "two\n\n", "three ", "four ", "five\n\n", "six"):
            outbox.emit(TextArrived(word))
            await on.canvas.reads(word.strip())
        assert on.canvas.written.count("one two") == 1


async def test_control_sequences_of_a_model_or_server_do_not_reach_the_terminal() -> None:
    evil = "ok\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[10A\x9b31m\x08!"
    async with watched() as (on, outbox, _):
        outbox.emit(Noticed("demo\x1b[5m", "error", evil))
        outbox.emit(ToolFinished(ToolCall("1", evil, {"a": evil}), evil, "t", ToolResult("1", (Text(evil),)), 0))
        for piece in ("a\x1b", "]52;c;AAAA", "\x07b [x](http://e\x1b[1m)"):
            outbox.emit(TextArrived(piece))
        outbox.emit(MessageFinished(AssistantMessage(()), None, "m"))
        await on.canvas.reads("a␛]52;c;AAAA␇b x")
        for sequence in ("\x1b]52", "\x1b[2J\x1b[10A", "\x9b", "\x07", "\x1b[5m", "\x1b]8"):
            assert sequence not in on.canvas.written


async def test_text_of_another_origin_is_marked_as_what_the_server_gets() -> None:
    async with watched() as (on, outbox, _):
        outbox.emit(TextArrived("A summary.", "notes"))
        outbox.emit(SampleFinished("notes", "mock/demo", Usage(8, 9), "accept"))
        await on.canvas.shows(
            "◇ the model answers notes:",
            "",
            "    A summary.",
            "◇ notes asked mock/demo: answered, 8 + 9 tokens",
            "›",
            "  status",
        )


async def test_a_request_that_a_limit_stopped_gets_one_line_that_names_it() -> None:
    request = ApproveSampling("notes", "mock/demo", Request(()))
    async with watched() as (on, outbox, watcher):
        for _ in range(3):
            outbox.emit(QuestionSettled(request, "decline", "policy", "sampling.max_x allows 2."))
            outbox.emit(SampleFinished("notes", "mock/demo", None, "error"))
        outbox.emit(SampleFinished("notes", "human", None, "accept"))
        outbox.emit(QuestionSettled(ShareRoots("notes", ("/a",)), "decline", "person"))
        outbox.emit(QuestionSettled(OpenUrl("pay", "", "https://a", "a:8"), "accept", "person"))
        await on.canvas.shows(
            "? The model request of notes was stopped: sampling.max_x",
            "allows 2.",
            "◇ notes was answered by you",
            "? Sharing the folders with notes was declined",
            "? The page of pay on a:8 was accepted",
            "›",
            "  status",
        )
        assert [one.stopped_by for one in watcher.samples] == [*["sampling.max_x allows 2."] * 3, ""]


async def test_a_result_that_is_wrapped_keeps_its_indent() -> None:
    async with watched(columns=24) as (on, outbox, _):
        text = "some words that need more than a row\n  indented\n" + "x" * 25
        outbox.emit(ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text(text),)), 0))
        await on.canvas.shows(
            "● demo/add(a=3, b=5)",
            "  └ some words that need",
            "    more than a row",
            "      indented",
            "    xxxxxxxxxxxxxxxxxxxx",
            "    xxxxx",
            "›",
            "  status",
        )


async def test_troubles_get_a_line_each() -> None:
    async with watched() as (on, outbox, _):
        outbox.emit(ServerChanged("git", "failed", "It could not be started."))
        outbox.emit(ServerChanged("time", "ready", "2 tools"))
        outbox.emit(Noticed("git", "info", "not shown"))
        outbox.emit(Noticed("", "warning", "shown"))
        outbox.emit(Retrying("Too many requests.", 3.2))
        outbox.emit(Retrying("Too many requests.", 0.1))
        outbox.emit(QuestionSettled(ApproveTool(CALL, "demo", "add"), "decline", "policy", "forbidden"))
        outbox.emit(ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text("no"),), is_error=True), 2.04))
        outbox.emit(TurnEnded(Stop.INTERRUPTED))
        await on.canvas.shows(
            "✗ git failed: It could not be started.",
            "! shown",
            "↻ Too many requests. Trying again in 3 s.",
            "↻ Too many requests. Trying again now.",
            "? The call of demo/add was declined: forbidden",
            "✗ demo/add(a=3, b=5) 2.0 s",
            "  └ no",
            "■ Stopped. What was said so far is kept.",
            "›",
            "  status",
        )


async def test_a_long_result_is_folded_and_counted() -> None:
    async with watched() as (on, outbox, _):
        text = "\n".join(f"row {number}" for number in range(20)) + "\n" + "x" * 5000
        outbox.emit(ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text(text),)), 0))
        await on.canvas.reads("… 15 more lines")
        assert on.canvas.rows[1:7] == ["  └ row 0", *(f"    row {number}" for number in range(1, 6))]


async def test_thinking_is_seen_until_there_is_text() -> None:
    async with watched() as (on, outbox, _):
        outbox.emit(ThinkingArrived("let me see"))
        await on.canvas.shows("let me see", "›", "  status")
        outbox.emit(TextArrived("Seen."))
        await on.canvas.shows("Seen.", "›", "  status")


async def test_a_question_is_answered_on_the_screen() -> None:
    answers: list[Answer] = []
    async with watched() as (on, outbox, _):

        async def ask() -> None:
            answers.append(await outbox.ask(ApproveTool(CALL, "demo", "add")))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await on.canvas.reads("Run demo/add?")
                on.press("y")
    assert answers == [Answer("accept")]


async def test_an_address_that_the_window_breaks_stands_above_its_question_once_in_one_piece() -> None:
    answers: list[Answer] = []
    long = "https://bank.example/authorize?" + 100 * "x"
    async with watched() as (on, outbox, _):

        async def ask(url: str) -> None:
            answers.append(await outbox.ask(OpenUrl("bank", "Sign in", url, "bank.example")))

        for url, times in (("https://bank.example/", 0), (long, 1)):
            with anyio.fail_after(5):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(ask, url)
                    await on.canvas.reads("bank asks you to open a page on")
                    on.press("n")
            assert on.canvas.written.count(f"{url}\r\n") == times
        await on.canvas.shows(
            "? The page of bank on bank.example was declined",
            long[:60],
            long[60:120],
            long[120:],
            "? The page of bank on bank.example was declined",
            "›",
            "  status",
        )
    assert answers == [Answer("decline"), Answer("decline")]


async def test_a_question_nobody_waits_for_any_more_disappears() -> None:
    async with watched() as (on, outbox, _):
        form = FillForm("rail", "Which seat?", {"properties": {"n": {}}})
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outbox.ask, form)
                await on.canvas.reads("Which seat?")
                scope.cancel()
        await on.canvas.shows("? The form of rail was withdrawn", "›", "  status")


async def test_an_answer_of_100_kb_costs_time_linear_in_its_length() -> None:
    """Counted in characters painted and written, not in seconds."""

    async def written(length: int) -> int:
        async with watched(columns=80) as (on, outbox, _):
            text = "Some words in a paragraph, and **more** of them.\n\n" * (length // 51)
            for at in range(0, len(text), 200):
                outbox.emit(TextArrived(text[at : at + 200]))
            outbox.emit(TextArrived("the end"))
            await on.canvas.reads("the end")
            return len(on.canvas.written)

    small, large = await written(10_000), await written(100_000)
    assert large <= 12 * small
