from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agent.chat.messages import ToolCall, user
from agent.chat.provider import Request
from agent.chat.questions import Answer, ApproveSampling, ApproveTool, FillForm, OpenUrl, Question
from agent.ui.dialogues import Dialogue, dialogue
from agent.ui.terminal.keystrokes import PAUSE
from agent.ui.terminal.screen import Screen
from tests.ui.terminal.canvas import Clock, Stage, stage

pytestmark = pytest.mark.anyio

KEYS = "y run it once · s for this session · n don't · Ctrl-C cancel"
SEAT = FillForm("rail", "Which seat?", {"properties": {"n": {"type": "integer", "default": 2}}, "required": ["n"]})
APPROVAL = ApproveTool(ToolCall("1", "rail__book", {}), "rail", "book")


async def put(screen: Screen, asked: Dialogue, answers: list[Answer]) -> None:
    answers.append(await screen.ask(asked))


async def sent(on: Stage, *lines: str) -> None:
    await on.canvas.until(lambda: on.sent == list(lines))


async def test_enter_sends_the_line_and_an_empty_one_is_nothing() -> None:
    async with stage() as on:
        on.press("  \r")
        on.press("\x15hello\r")
        await sent(on, "hello")
        await on.canvas.shows("›", "  status")


async def test_a_pasted_text_is_one_message_with_or_without_bracketed_paste() -> None:
    async with stage() as on:
        on.press("\x1b[200~line1\nline2\n\nline4\x1b[201~\r")
        await sent(on, "line1\nline2\n\nline4")
        on.press("a\nb\nc\n\r")
        await sent(on, "line1\nline2\n\nline4", "a\nb\nc\n")


async def test_alt_enter_begins_a_new_line() -> None:
    async with stage() as on:
        on.press("one\x1b\rtwo\r")
        await sent(on, "one\ntwo")


async def test_text_printed_above_stays_and_the_draft_stays_below_it() -> None:
    async with stage() as on:
        on.press("dra")
        await on.canvas.shows("› dra", "  status")
        on.screen.print("first\n")
        on.screen.print("second 日本語\n")
        on.press("ft")
        await on.canvas.shows("first", "second 日本語", "› draft", "  status")


async def test_wide_characters_keep_the_cursor_where_the_text_ends() -> None:
    async with stage() as on:
        on.press("日本")
        await on.canvas.reads("日本")
        assert (on.canvas.screen.cursor.y, on.canvas.screen.cursor.x) == (0, 6)


async def test_a_question_takes_the_place_of_the_draft_which_comes_back() -> None:
    clock = Clock()
    async with stage(keystrokes=clock.keystrokes) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        on.press("half a thought")
        await on.canvas.reads("half a thought")
        clock.advance(PAUSE)
        tasks.start_soon(put, on.screen, dialogue(APPROVAL), answers)
        await on.canvas.shows("Run rail/book?", KEYS, "  status")
        on.press("xss")
        await on.canvas.shows("› half a thought", "  status")
        assert answers == [Answer("accept", remember="session")]
        assert on.sent == []


async def test_a_question_that_comes_while_the_person_types_takes_none_of_it() -> None:
    clock = Clock()
    async with stage(keystrokes=clock.keystrokes) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        on.press("add 1 ")
        await on.canvas.reads("› add 1")
        clock.advance(PAUSE / 2)
        tasks.start_soon(put, on.screen, dialogue(APPROVAL), answers)
        await on.canvas.shows("  A question waits until you stop typing.", "› add 1", "  status")
        on.press("and 2y")
        await on.canvas.reads("› add 1 and 2y")
        clock.advance(PAUSE * 0.9)
        on.press("s\r")
        await sent(on, "add 1 and 2ys")
        clock.advance(PAUSE * 0.9)
        await on.canvas.shows("  A question waits until you stop typing.", "›", "  status")
        assert answers == []
        clock.advance(PAUSE / 2)
        await on.canvas.shows("Run rail/book?", KEYS, "  status")
        on.press("n")
        await on.canvas.shows("›", "  status")
        assert answers == [Answer("decline")]


async def test_a_question_that_waits_for_a_pause_can_be_withdrawn_and_the_next_one_is_asked() -> None:
    clock = Clock()
    async with stage(keystrokes=clock.keystrokes) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        on.press("typing")
        await on.canvas.reads("› typing")
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as first:
                first.start_soon(put, on.screen, dialogue(SEAT), answers)
                await on.canvas.reads("A question waits")
                scope.cancel()
        await on.canvas.shows("› typing", "  status")
        tasks.start_soon(put, on.screen, dialogue(APPROVAL), answers)
        clock.advance(PAUSE)
        await on.canvas.reads("Run rail/book?")
        on.press("y")
        await on.canvas.shows("› typing", "  status")
        assert answers == [Answer("accept")]


async def test_a_key_that_means_nothing_says_so_above_those_that_do() -> None:
    async with stage() as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(APPROVAL), answers)
        await on.canvas.reads("Run rail/book?")
        on.press("\r")
        await on.canvas.shows("Run rail/book?", "Enter answers nothing here; these keys do:", KEYS, "  status")
        on.press("x")
        await on.canvas.shows("Run rail/book?", "“x” answers nothing here; these keys do:", KEYS, "  status")
        on.press("\x1b[A")
        await on.canvas.shows("Run rail/book?", "That key answers nothing here; these keys do:", KEYS, "  status")
        on.press("y")
        await on.canvas.shows("›", "  status")
        assert answers == [Answer("accept")]


async def test_what_the_window_has_no_room_for_is_paged_and_cannot_be_accepted_before() -> None:
    asked = dialogue(ApproveTool(ToolCall("1", "t", {"a": 1, "b": 2}), "s", "t"))
    async with stage(rows=8, columns=20) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, asked, answers)
        first = ["Run s/t?", "{", '  "a": 1,', '  "b": 2', "}"]
        await on.canvas.shows(*first, "1/2 Space: more", "  status")
        on.press("y")
        note = ["Not all of this has", "been on the screen", "yet: Space shows", "more."]
        await on.canvas.shows(*first[:3], *note, "  status")
        assert answers == []
        on.press(" ")
        keys = ["y run it once · s", "for this session · n", "don't · Ctrl-C", "cancel"]
        await on.canvas.shows(*keys, "2/2 Space: from the…", "  status")
        on.press("y")
        await on.canvas.until(lambda: on.canvas.rows[-2:] == ["›", "  status"])
        assert answers == [Answer("accept")]


ADDRESS = OpenUrl("bank", "Sign in", "https://paypal.example/a?b", "paypal.example", ("It is odd.",))
REQUEST = ApproveSampling("notes", "openai/gpt", Request((user("Sum it up."),), max_tokens=9), "its hint", 12, 0.01)


@pytest.mark.parametrize(
    ("question", "sight"),
    [
        (ADDRESS, ["bank asks", "paypal.example", "! It is odd."]),
        (REQUEST, ["notes wants", "openai/gpt", "12 tokens", "$0.0100", "Sum it up."]),
    ],
)
@pytest.mark.parametrize(("rows", "columns"), [(8, 20), (12, 40), (6, 20), (5, 30)])
async def test_nothing_is_agreed_to_before_it_was_on_the_screen_however_small_that_is(
    question: Question, sight: list[str], rows: int, columns: int
) -> None:
    async with stage(rows=rows, columns=columns) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(question), answers)
        await on.canvas.reads(sight[0].split()[0])
        seen, page = "\n".join(on.canvas.rows), 1
        while "from the" not in seen and "Space" in seen:
            on.press("vy")  # v reads it out above, where a low window has no room for it either
            await on.canvas.reads("Not all")
            assert answers == []
            page += 1
            on.press(" ")
            await on.canvas.reads(f"{page}/")
            seen += "\n" + "\n".join(on.canvas.rows)
        assert [word for text in sight for word in text.split() if word not in seen] == []
        on.press("y")
        await on.canvas.until(lambda: on.canvas.rows[-2:] == ["›", "  status"])
        assert answers == [Answer("accept")]


async def test_pages_that_are_turned_faster_than_they_are_drawn_have_not_been_seen() -> None:
    async with stage(rows=5, columns=30) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(ADDRESS), answers)
        await on.canvas.reads("1/3 Space: more")
        on.press("  y")
        await on.canvas.reads("Not all")
        assert answers == []
        on.press("\x03")
        await on.canvas.until(lambda: on.canvas.rows[-2:] == ["›", "  status"])


async def test_pages_are_turned_back_too_and_begin_anew_in_another_window() -> None:
    call = ToolCall("1", "t", {"rows": list(range(7))})
    async with stage(rows=10, columns=60) as on, anyio.create_task_group() as tasks:
        tasks.start_soon(put, on.screen, dialogue(ApproveTool(call, "s", "t")), [])
        await on.canvas.reads("1/2 Space: more")
        assert on.canvas.rows[0] == "Run s/t?"
        on.press("\x1b[6~")
        await on.canvas.reads("2/2 Space: from the top")
        assert on.canvas.rows[-2] == KEYS
        on.press("\x1b[5~")
        await on.canvas.reads("1/2 Space: more")
        on.press("  ")
        await on.canvas.reads("1/2 Space: more")
        on.press("\x03")
        await on.canvas.shows("›", "  status")


async def test_a_form_is_typed_and_its_fault_stands_under_the_line() -> None:
    async with stage(columns=80) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(SEAT), answers)
        keys = "Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"
        default = "Enter takes the default, typing replaces it · Shift-Tab back · Ctrl-X decline ·"
        await on.canvas.shows(
            "rail asks: Which seat?", "1/1 n (a whole number)", "? 2", default, "Ctrl-C cancel", "  status"
        )
        on.press("x\r")
        await on.canvas.shows(
            "rail asks: Which seat?",
            "1/1 n (a whole number)",
            "? x",
            "A whole number, please, such as 7.",
            keys,
            "  status",
        )
        on.press("y")
        await on.canvas.reads("? xy")
        on.press("\x157\r")
        await on.canvas.reads("Enter send")
        on.press("\x1b[Z")
        await on.canvas.reads("? 7")
        on.press("\r\r")
        await on.canvas.shows("›", "  status")
        assert answers == [Answer("accept", {"n": 7})]


async def test_pages_of_a_form_are_turned_while_what_was_typed_stays() -> None:
    asked = FillForm("rail", "Which seat?", {"properties": {"n": {"enum": ["window", "aisle", "either"]}}})
    async with stage(rows=8, columns=30) as on, anyio.create_task_group() as tasks:
        tasks.start_soon(put, on.screen, dialogue(asked), [])
        field = ("1/1 n (one of them, may stay", "empty)", "  1) window", "  2) aisle", "  3) either")
        await on.canvas.shows(*field, "?", "1/2 Page Down: more · Enter n…", "  status")
        on.press("a b")
        await on.canvas.reads("? a b")
        on.press("\x1b[6~")
        rest = ("rail asks: Which seat?", "Enter next · Shift-Tab back ·", "Ctrl-X decline · Ctrl-C cancel")
        await on.canvas.shows(*rest, "? a b", "2/2 Page Down: from the top ·…", "  status")
        on.press("\x1b[5~")
        await on.canvas.shows(*field, "? a b", "1/2 Page Down: more · Enter n…", "  status")
        on.press(30 * "c")
        await on.canvas.reads("? a b" + 25 * "c")
        typed = ("? a b" + 25 * "c", "  ccccc")
        await on.canvas.shows(*field[:4], *typed, "1/2 Page Down: more · Enter n…", "  status")
        on.press("\x03")
        await on.canvas.until(lambda: on.canvas.rows[-2:] == ["›", "  status"])


@pytest.mark.parametrize(("key", "verdict"), [("\x03", "cancel"), ("\x18", "decline"), ("\x04", "cancel")])
async def test_one_key_declines_or_cancels_a_form(key: str, verdict: str) -> None:
    async with stage() as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(SEAT), answers)
        await on.canvas.reads("Which seat?")
        on.press(key)
        await on.canvas.shows("›", "  status")
        assert answers == [Answer(verdict)]  # type: ignore[arg-type]
        assert on.interrupts == 0


async def test_a_withdrawn_question_leaves_the_screen() -> None:
    async with stage() as on:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(put, on.screen, dialogue(SEAT), [])
                await on.canvas.reads("Which seat?")
                scope.cancel()
        await on.canvas.shows("›", "  status")


async def test_a_second_question_waits_for_the_first() -> None:
    async with stage() as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(APPROVAL), answers)
        await on.canvas.reads("Run rail/book?")
        tasks.start_soon(put, on.screen, dialogue(SEAT), answers)
        on.press("n")
        await on.canvas.reads("Which seat?")
        on.press("\x18")
        await on.canvas.shows("›", "  status")
        assert answers == [Answer("decline"), Answer("decline")]


async def test_all_of_a_long_question_can_be_read() -> None:
    call = ToolCall("1", "t", {"rows": list(range(12))})
    async with stage(rows=40) as on, anyio.create_task_group() as tasks:
        answers: list[Answer] = []
        tasks.start_soon(put, on.screen, dialogue(ApproveTool(call, "s", "t")), answers)
        await on.canvas.reads("… 6 more lines (v or ? shows all)")
        assert "    11" not in on.canvas.rows
        on.press("y")
        await on.canvas.reads("Not all of this has been in sight yet: v shows it.")
        assert answers == []
        on.press("v")
        await on.canvas.reads("    11")
        on.press("y")
        await on.canvas.reads("›")
        assert answers == [Answer("accept")]


async def test_ctrl_c_clears_the_line_and_says_how_to_leave_when_there_is_none() -> None:
    async with stage() as on:
        on.press("some text")
        await on.canvas.reads("some text")
        on.press("\x03")
        await on.canvas.shows("›", "  status")
        on.press("\x03")
        await on.canvas.shows("›", "  Ctrl-D leaves.")


async def test_ctrl_c_stops_what_runs_and_brings_queued_lines_back() -> None:
    async with stage() as on:
        on.busy = True
        on.screen.region.queued += ["first", "second"]
        on.press("third")
        await on.canvas.shows("  queued: first", "  queued: second", "› third", "  status")
        on.press("\x03")
        await on.canvas.shows("› first", "  second", "  third", "  status")
        assert on.interrupts == 1


async def test_ctrl_d_leaves_on_an_empty_line_only() -> None:
    async with stage() as on:
        on.press("x\x04\x04")
        on.press("\r")
        await sent(on, "x")
        on.press("\x04")
        await on.canvas.shows()


async def test_a_smaller_window_shows_the_input_whatever_else_there_is() -> None:
    async with stage(rows=8, columns=30) as on:
        on.screen.region.tail = "\n".join(f"row {number}" for number in range(100))
        on.press("typed")
        await on.canvas.reads("› typed")
        assert on.canvas.rows == ["row 98", "row 99", "› typed", "  status"]


async def test_what_was_sent_can_be_had_back_in_the_next_chat(tmp_path: Path) -> None:
    history = tmp_path / "folder" / "history"
    async with stage(history=history) as on:
        on.press("two\x1b\rlines\r")
        await sent(on, "two\nlines")
    assert history.stat().st_mode & 0o777 == 0o600
    async with stage(history=history) as on:
        on.press("\x1b[A")
        await on.canvas.shows("› two", "  lines", "  status")


async def test_a_history_that_is_lost_in_mid_chat_costs_nothing_but_itself(tmp_path: Path) -> None:
    history = tmp_path / "folder" / "history"
    async with stage(history=history) as on:
        history.unlink()
        history.parent.rmdir()
        history.parent.write_text("")
        on.press("one\r")
        await sent(on, "one")
        on.press("\x1b[A")
        await on.canvas.shows("› one", "  status")


async def test_what_was_typed_before_stands_in_the_draft_or_is_sent() -> None:
    async with stage(typed="first\rsecond ax\x7f") as on:
        await on.canvas.shows("› second a", "  status")
        assert on.sent == ["first"]
