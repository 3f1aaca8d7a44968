from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.events import Noticed, ToolStarted
from agent.chat.messages import Stop, ToolCall
from agent.ui.escapes import Cleaner, clean, clean_line, cleaned, spell, spell_line

HARMLESS = "ok\n\ttext äöü 日本語 👩‍👩‍👧 e\u0301"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HARMLESS, HARMLESS),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]52;c;ZXZpbA==\x07b", "a␛]52;c;ZXZpbA==␇b"),
        ("a\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\b", "a␛]8;;http://evil␛\\x␛]8;;␛\\b"),
        ("a\x1b[2J\x1b[10Ab", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\x9d0;title\x9cb", "a⟨U+009D⟩0;title⟨U+009C⟩b"),
        ("a\x1bPq\x1b\\b", "a␛Pq␛\\b"),
        ("a\x1b(0b", "ab"),
        ("a\x1bcb", "ab"),
        ("a\x1b]unterminated", "a␛]unterminated"),
        ("a\x1b", "a␛"),
        ("bell\x07back\x08", "bell␇back␈"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("del\x7f", "del␡"),
        ("a\x85b", "a⟨U+0085⟩b"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a" + "\u200b" * 200 + "b", "a⟨U+200B ×200⟩b"),
        ("\U000e0041\U000e0042", "⟨U+E0041⟩⟨U+E0042⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_what_could_control_a_terminal_is_dropped_or_made_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text())
def test_nothing_that_controls_a_terminal_survives(text: str) -> None:
    shown = clean(text)
    assert [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F] == []
    assert clean(shown) == shown


@given(st.lists(st.text(alphabet="ab\x1b[]0;m\x07\\\r\n\x9b\x9d\x9cP(")))
def test_text_in_pieces_is_as_harmless_as_in_one(pieces: list[str]) -> None:
    cleaner = Cleaner()
    shown = "".join(cleaner.feed(piece) for piece in pieces) + cleaner.finish()
    assert not set(shown) & set("\x1b\x07\r\x9b\x9d\x9c")


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["a\x1b", "]52;c;AAAA", "\x07b"], ["a", "␛]52;c;AAAA", "␇b"]),
        (["a\x1b", "[3", "1mred"], ["a", "", "red"]),
        (["line\r", "\nnext"], ["line", "\nnext"]),
        (["line\r", "next"], ["line", "\nnext"]),
        (["a\x1b]0;t\x1b", "\\b"], ["a␛]0;t", "␛\\b"]),
        (["a\x9b", "3", "1mb"], ["a", "", "b"]),
    ],
)
def test_a_sequence_cut_anywhere_is_treated_as_a_whole_one(pieces: list[str], shown: list[str]) -> None:
    cleaner = Cleaner()
    assert [cleaner.feed(piece) for piece in pieces] == shown
    assert cleaner.finish() == ""


def test_a_sequence_that_never_ends_is_shown_once_the_text_ends() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("a\x1b[52;1") == "a"
    assert cleaner.finish() == "␛[52;1"


def test_a_sequence_that_does_not_end_holds_back_no_more_than_its_limit() -> None:
    cleaner = Cleaner()
    shown = cleaner.feed("\x1b[" + "1" * 5000)
    assert shown == "␛[" + "1" * 5000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext äöü 日本語 e\u0301", "plain\n\ttext äöü 日本語 e\u0301"),
        ("a\x1b]0;touch x\x07b", "a␛]0;touch x␇b"),
        ("a\x9d; rm -rf ~\x9cb", "a⟨U+009D⟩; rm -rf ~⟨U+009C⟩b"),
        ("a\x1b[8mhidden\x1b[0mb", "a␛[8mhidden␛[0mb"),
        ("one\r\ntwo\rthree", "one␍\ntwo␍three"),
        ("a\x00\x00\x7fb", "a␀␀␡b"),
        ("a\u200db\u200cc", "a⟨U+200D⟩b⟨U+200C⟩c"),
        ("a" + "\u200b" * 200 + "b", "a⟨U+200B ×200⟩b"),
        ("a\ufe0f\u3164\u034f\U000e0041", "a⟨U+FE0F⟩⟨U+3164⟩⟨U+034F⟩⟨U+E0041⟩"),
        ("a\u2028\u202e\ud800\ue000", "a⟨U+2028⟩⟨U+202E⟩⟨U+D800⟩⟨U+E000⟩"),
    ],
)
def test_what_is_decided_on_is_spelled_out_and_nothing_of_it_is_dropped(text: str, shown: str) -> None:
    assert spell(text) == shown


@given(st.text())
def test_every_character_of_a_text_that_is_spelled_out_can_be_seen(text: str) -> None:
    shown = spell(text)
    assert [c for c in shown if c not in "\n\t" and unicodedata.category(c)[0] == "C"] == []
    assert spell(shown) == shown


def test_a_spelled_line_is_one_line_and_cut() -> None:
    assert spell_line("a\n b\t c\x1b[0m") == "a b c␛[0m"
    assert spell_line("x" * 50, 10) == "x" * 9 + "…"


def test_a_line_is_one_line_and_cut() -> None:
    assert clean_line("a\n b\t c\x1b[0m") == "a b c"
    assert clean_line("x" * 50, 10) == "x" * 9 + "…"
    assert clean_line("x" * 10, 10) == "x" * 10


def test_every_text_of_a_value_is_cleaned_and_nothing_else_changes() -> None:
    call = ToolCall("1", "t\x1b[1m", {"a\x07": ["b\x08", 3, None, True]}, "{}")
    assert cleaned(ToolStarted(call, "s\x1b", "t")) == ToolStarted(
        ToolCall("1", "t", {"a␇": ["b␈", 3, None, True]}, "{}"), "s␛", "t"
    )
    assert cleaned((Stop.END, Noticed("s", "info", "x\x9b1m"))) == (Stop.END, Noticed("s", "info", "x"))
