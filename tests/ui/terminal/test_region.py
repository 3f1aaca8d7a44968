from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.chat.events import ToolProgressed
from agent.chat.messages import ToolCall
from agent.chat.questions import FillForm, OpenUrl
from agent.ui.dialogues import dialogue
from agent.ui.terminal.cells import cut, first_rows, last_rows, wrap
from agent.ui.terminal.region import Region, Running

CALL = ToolCall("1", "t", {})


@pytest.mark.parametrize(
    ("done", "total", "note", "row"),
    [
        (0, None, "", "◌ tool"),
        (3, None, "files", "◌ tool 3 files"),
        (1, 4, "", "◌ █████░░░░░░░░░░░░░░░  25% tool"),
        (9, 4, "", "◌ ████████████████████ 100% tool"),
        (-1, 4, "", "◌ ░░░░░░░░░░░░░░░░░░░░   0% tool"),
        (1, 0, "", "◌ tool 1"),
        (1, 4, "a\nb \x1b[1mc", "◌ █████░░░░░░░░░░░░░░░  25% tool a b c"),
    ],
)
def test_a_running_tool_shows_how_far_it_is(done: float, total: float | None, note: str, row: str) -> None:
    running = Running("tool")
    running.take(ToolProgressed(CALL, done, total, note))
    assert Region(running={"1": running}).above(80, 10) == [("class:tool", row)]


def test_the_region_is_never_higher_than_its_rows_and_keeps_what_is_newest() -> None:
    region = Region(tail="\n".join(map(str, range(50))), queued=["one", "two"])
    assert region.above(20, 4) == [
        ("class:tail", "48"),
        ("class:tail", "49"),
        ("class:queued", "  queued: one"),
        ("class:queued", "  queued: two"),
    ]
    assert len(region.above(20, 0)) == 1


def test_a_status_that_does_not_fit_loses_what_matters_least_first() -> None:
    region = Region(status="model · servers · 5 in, 3 out · working", shorter=("model · servers · working", "working"))
    widths = (39, 38, 25, 24, 7, 5)
    assert [region.status_within(width) for width in widths] == [
        "model · servers · 5 in, 3 out · working",
        "model · servers · working",
        "model · servers · working",
        "working",
        "working",
        "work…",
    ]
    assert Region(status="model").status_within(3) == "mo…"


def test_a_turn_that_cannot_begin_yet_is_seen_with_what_it_waits_for() -> None:
    region = Region(opening=("› hello", "  waiting for slow"), queued=["next"])
    assert [text for _, text in region.above(20, 9)] == ["› hello", "waiting for slow", "  queued: next"]


def test_the_first_rows_of_a_text_are_found_without_reading_it_all() -> None:
    assert first_rows("a\nb\nc", 10, 2) == ["a", "b", "c"]
    assert first_rows("x" * 1_000_000, 10, 2) == ["x" * 10, "x" * 10, "x" * 10]
    assert first_rows("e" + "\u0301" * 1_000, 10, 2)[1:] == ["…", "…"]
    assert first_rows("a", 10, 2) == ["a"]


def test_thinking_is_shown_while_there_is_no_text() -> None:
    assert Region(thinking="hm").above(20, 4) == [("class:thinking", "hm")]
    assert Region(thinking="hm", tail="text").above(20, 4) == [("class:tail", "text")]


def test_the_keys_of_a_question_stand_below_its_line() -> None:
    region = Region(dialogue=dialogue(FillForm("rail", "Which seat?", {"properties": {"n": {}}})))
    assert [text for _, text in region.above(80, 10)] == ["rail asks: Which seat?", "1/1 n (may stay empty)"]
    assert [text for _, text in region.below(80)] == ["Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"]
    assert Region().below(80) == []


def test_who_asks_and_for_what_stays_in_sight_however_little_room_there_is() -> None:
    choices = {"properties": {"n": {"enum": [f"choice {number}" for number in range(12)]}}}
    region = Region(tail="one\ntwo", dialogue=dialogue(FillForm("rail", "Which seat?", choices)))
    assert [text for _, text in region.above(80, 5)] == [
        "rail asks: Which seat?",
        "1/1 n (one of them, may stay empty)",
        "  10) choice 9",
        "  11) choice 10",
        "  12) choice 11",
    ]
    assert [text for _, text in region.above(80, 15)][:2] == ["two", "rail asks: Which seat?"]
    assert [text for _, text in region.above(80, 1)] == [
        "rail asks: Which seat?",
        "1/1 n (one of them, may stay empty)",
    ]


def test_questions_that_wait_say_who_asks_them() -> None:
    first, second = (dialogue(FillForm(server, "?", {})) for server in ("rail", "bank"))
    region = Region(dialogue=first, waiting=[second, dialogue(OpenUrl("pay", "Sign in", "https://a", "a"))])
    assert [text for _, text in region.above(80, 10)] == [
        "rail asks: ?",
        "  next: bank asks: ?",
        "  next: pay asks you to open a page on",
    ]


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("日本語日本語", ["日本語日", "本語"]),
        ("  indented", ["  indent", "ed"]),
        ("a verylongword b", ["a", "verylong", "word b"]),
        ("ends   ", ["ends   "]),
    ],
)
def test_a_line_is_broken_between_words(line: str, rows: list[str]) -> None:
    assert wrap(line, 8) == rows


@given(st.text(alphabet="ab 日é\u0301\t👩"), st.integers(2, 12))
def test_no_row_is_wider_than_it_may_be_and_no_word_is_lost(line: str, width: int) -> None:
    rows = wrap(line.expandtabs(4), width)
    assert [row for row in rows if cell_len(row) > width] == []
    assert "".join(rows).replace(" ", "") == line.expandtabs(4).replace(" ", "")


def test_the_last_rows_of_a_text_are_found_without_reading_it_all() -> None:
    assert last_rows("a\nb\nc", 10, 2) == ["b", "c"]
    assert last_rows("x" * 1_000_000, 10, 2) == ["x" * 10, "x" * 10]
    assert last_rows("a\n", 10, 2) == ["a", ""]
    assert last_rows("日", 1, 2) == ["日"]


def test_what_is_too_long_is_cut_at_the_cell() -> None:
    assert [cut("日本語", width) for width in (6, 5, 4, 1)] == ["日本語", "日本…", "日…", "…"]
