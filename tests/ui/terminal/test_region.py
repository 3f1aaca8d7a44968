from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.chat.events import ToolProgressed
from agent.chat.messages import ToolCall, user
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling, FillForm, OpenUrl
from agent.ui.dialogues import dialogue
from agent.ui.terminal.cells import cut, first_rows, last_rows, wrap
from agent.ui.terminal.paging import PAGE_DOWN, PAGE_UP
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


SEATS = {"properties": {"n": {"title": "Seat", "enum": [f"choice {number}" for number in range(1, 6)]}}}
ONE, TWO = [f"  {number}) choice {number}" for number in (1, 2, 3)], ["  4) choice 4", "  5) choice 5"]
SEAT = "1/1 Seat (one of them, may stay empty)"


def drawn(region: Region, width: int, rows: int) -> tuple[list[str], list[str]]:
    above, below = region.drawn(width, rows)
    return [text for _, text in above], [text for _, text in below]


def test_what_is_asked_comes_before_its_keys_and_who_asks_before_what_goes_on_meanwhile() -> None:
    region = Region(tail="one\ntwo", dialogue=dialogue(FillForm("rail", "Which seat?", SEATS)))
    title, keys = "rail asks: Which seat?", "Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"
    assert drawn(region, 80, 9) == (["two", title, SEAT, *ONE, *TWO], [keys])
    assert drawn(region, 80, 8) == ([title, SEAT, *ONE, *TWO], [keys])
    more = f"1/2 Page Down: more · {keys}"[:79] + "…"
    assert drawn(region, 80, 7) == ([SEAT, *ONE, *TWO], [more])
    assert drawn(region, 80, 5) == ([SEAT, *ONE], [more])


def test_page_down_shows_the_rest_of_a_form_with_all_of_its_keys_and_page_up_leads_back() -> None:
    region = Region(dialogue=dialogue(FillForm("rail", "Which seat?", SEATS)))
    assert drawn(region, 42, 5) == ([SEAT, *ONE], ["1/3 Page Down: more · Enter next · Shift-…"])
    assert region.turn(PAGE_DOWN, 42, 5)
    assert drawn(region, 42, 5) == (
        [*TWO, "rail asks: Which seat?"],
        ["2/3 Page Down: more · Enter next · Shift-…"],
    )
    assert region.turn(PAGE_DOWN, 42, 5)
    assert drawn(region, 42, 5) == (
        ["Enter next · Shift-Tab back · Ctrl-X", "decline · Ctrl-C cancel"],
        ["3/3 Page Down: from the top · Enter next …"],
    )
    assert region.turn(PAGE_UP, 42, 5)
    assert drawn(region, 42, 5)[0] == [*TWO, "rail asks: Which seat?"]
    assert not region.turn(PAGE_DOWN, 80, 20)


def test_what_is_wrong_has_the_room_that_the_field_leaves_it_and_all_of_it_stands_on_the_pages() -> None:
    asked = dialogue(FillForm("rail", "Which seat?", SEATS))
    asked.enter("9")
    region = Region(dialogue=asked)
    assert drawn(region, 42, 9) == (
        [SEAT, *ONE, *TWO],
        ["Please choose a number or one of the names", "above.", "1/2 Page Down: more · Enter next · Shift-…"],
    )
    assert drawn(region, 42, 8) == (
        [SEAT, *ONE, *TWO],
        ["Please choose a number or one of the name…", "1/2 Page Down: more · Enter next · Shift-…"],
    )
    assert region.turn(PAGE_DOWN, 42, 8)
    assert drawn(region, 42, 8)[0] == [
        "Please choose a number or one of the names",
        "above.",
        "rail asks: Which seat?",
        "Enter next · Shift-Tab back · Ctrl-X",
        "decline · Ctrl-C cancel",
    ]
    assert drawn(region, 42, 2) == ([SEAT], ["Please choose a number or one of the name…"])
    assert drawn(region, 42, 1) == ([SEAT], [])


def test_a_message_that_is_edited_keeps_its_label_while_a_tool_runs_in_a_low_window() -> None:
    request = ApproveSampling("demo", "mock/demo", Request((user("Sum up."),), max_tokens=9), "", 12, None)
    asked = dialogue(request)
    asked.press("e")
    asked.enter("Be brief.")
    region = Region(dialogue=asked, running={"1": Running("demo/summarize()")})
    assert drawn(region, 38, 7) == (
        [
            "◌ demo/summarize()",
            "What demo asks mock/demo",
            "  System prompt: Be brief.",
            "2/3 Last message (may stay empty)",
        ],
        ["Enter next · Ctrl-U clears the line ·", "Shift-Tab back · Ctrl-X decline ·", "Ctrl-C cancel"],
    )
    assert drawn(region, 38, 6)[0][0] == "What demo asks mock/demo"
    assert drawn(region, 38, 4) == (
        ["What demo asks mock/demo", "  System prompt: Be brief.", "2/3 Last message (may stay empty)"],
        ["1/2 Page Down: more · Enter next · Ct…"],
    )


@given(st.integers(1, 60), st.integers(2, 14), st.sampled_from(["", "9", "nothing of that kind"]))
def test_every_word_of_a_form_is_on_one_of_its_pages_and_none_is_higher_than_the_window(
    width: int, rows: int, typed: str
) -> None:
    asked = dialogue(FillForm("rail", "Which seat, of those by the window?", SEATS | {"required": ["n"]}))
    asked.enter(typed)
    region, seen = Region(dialogue=asked, running={"1": Running("t()")}), ""
    for _ in range(200):
        above, below = drawn(region, width, rows)
        assert len(above) + len(below) <= rows
        seen += "".join([*above, *below]).replace(" ", "")
        if region.paging.all_seen:
            break
        region.turn(PAGE_DOWN, width, rows)
    words = [word for _, text in asked.lines() for word in text.split() if len(word) <= max(2, width)]
    assert [word for word in words if word not in seen] == []


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
