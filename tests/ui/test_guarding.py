from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import AssistantMessage, Text, ToolCall, user
from agent.chat.provider import Request
from agent.chat.questions import (
    Answer,
    ApproveSampling,
    ApproveTool,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
    ShareRoots,
)
from agent.ui.dialogues import dialogue
from agent.ui.guarding import Guarded

HIDDEN = "a\x1b]0;touch x\x07 \u009d; rm -rf ~\u009c \u200d"
SPELLED = "a␛]0;touch x␇ ⟨U+009D⟩; rm -rf ~⟨U+009C⟩ ⟨U+200D⟩"
APPROVAL = ApproveTool(ToolCall("1", "t", {"a": 1}), "s", "t")
LONG = ApproveTool(ToolCall("1", "t", {"rows": list(range(20))}), "s", "t")
KEYS = ("keys", "y run it once · s for this session · n don't · Ctrl-C cancel")


def guarded(question: Question, **more: Any) -> Guarded:
    return Guarded(dialogue(question), **more)


@pytest.mark.parametrize(
    "question",
    [
        ApproveTool(ToolCall("1", "t", None, HIDDEN), "s", "t"),
        ApproveTool(ToolCall("1", "t", {}), "s", HIDDEN),
        ApproveSampling("s", "m", Request((user(HIDDEN),))),
        ApproveSampling("s", "m", Request((), HIDDEN)),
        ReviewSample("s", "m", AssistantMessage((Text(HIDDEN),))),
        FillForm("s", HIDDEN, {}),
        FillForm("s", "", {"properties": {"n": {"title": HIDDEN}}}),
        OpenUrl("s", "", HIDDEN, "host"),
        ShareRoots("s", (HIDDEN,)),
    ],
    ids=lambda question: type(question).__name__,
)
def test_nothing_of_what_is_asked_is_hidden(question: Question) -> None:
    assert SPELLED in "\n".join(text for _, text in dialogue(question).lines())


def test_arguments_show_control_characters_as_json_writes_them_and_the_rest_by_number() -> None:
    asked = dialogue(ApproveTool(ToolCall("1", "t", {"a": "\x1b]0;x\x07\u009d\u200d"}), "s", "t"))
    assert asked.lines()[2] == ("body", '  "a": "\\u001b]0;x\\u0007⟨U+009D⟩⟨U+200D⟩"')


@pytest.mark.parametrize("confirming", ["s", "enter"])
def test_what_lasts_needs_a_second_key(confirming: str) -> None:
    asked = guarded(APPROVAL)
    asked.press("s")
    assert asked.answer is None
    assert asked.lines()[-1] == ("keys", "s again or Enter: for the whole session · any other key as before")
    asked.press(confirming)
    assert asked.answer == Answer("accept", remember="session")


def test_after_the_first_of_two_keys_there_is_still_a_choice() -> None:
    answers = {}
    for key in ("y", "n", "cancel", "x"):
        asked = guarded(APPROVAL)
        asked.press("s")
        asked.press(key)
        answers[key] = asked.answer
        if key == "x":
            asked.press("enter")
            assert asked.answer is None
    assert answers == {"y": Answer("accept"), "n": Answer("decline"), "cancel": Answer("cancel"), "x": None}


def test_a_grant_for_good_says_so_before_it_counts() -> None:
    asked = guarded(ShareRoots("s", ("/home/me",)))
    asked.press("a")
    assert asked.lines()[-1] == ("keys", "a again or Enter: always, in later sessions too · any other key as before")
    asked.press("a")
    assert asked.answer == Answer("accept", remember="always")


@pytest.mark.parametrize("key", ["y", "s"])
def test_what_is_folded_can_be_declined_but_not_accepted_before_it_was_shown(key: str) -> None:
    asked = guarded(LONG)
    asked.press(key)
    assert (asked.answer, asked.lines()[-2:]) == (
        None,
        [("error", "Not all of this has been in sight yet: v shows it."), KEYS],
    )
    assert asked.read_out().splitlines()[-3:] == ["    19", "  ]", "}"]
    asked.press("y")
    assert asked.answer == Answer("accept")
    declined = guarded(LONG)
    declined.press("n")
    assert declined.answer == Answer("decline")


def test_what_the_window_hides_counts_as_unseen_until_all_of_it_was_on_the_screen() -> None:
    asked = guarded(OpenUrl("s", "Sign in", "https://a.example/b", "a.example", ("odd",)), in_sight=False)
    asked.press("y")
    note = ("error", "Not all of this has been on the screen yet: Space shows more.")
    assert (asked.answer, asked.lines()[-2]) == (None, note)
    assert asked.read_out().splitlines() == [
        "s asks you to open a page on",
        "  a.example",
        "! odd",
        "Sign in",
        "https://a.example/b",
    ]
    asked.press("y")
    assert asked.answer is None
    asked.in_sight = True
    asked.press("y")
    assert asked.answer == Answer("accept")


def test_what_changed_after_it_was_shown_must_be_shown_again() -> None:
    asked = guarded(ReviewSample("s", "m", AssistantMessage((Text("\n".join(map(str, range(20)))),))))
    asked.read_out()
    asked.press("e")
    asked.enter("\n".join(map(str, range(100, 120))))
    asked.press("enter")
    asked.press("y")
    assert asked.answer is None
    assert asked.read_out().splitlines()[-1] == "119"
    asked.press("y")
    assert asked.answer == Answer("accept", {"text": "\n".join(map(str, range(100, 120)))})


def test_a_key_without_a_meaning_is_named_above_those_that_have_one() -> None:
    asked = guarded(APPROVAL)
    notes = []
    for key in ("x", "enter", "\x1b[A"):
        asked.press(key)
        notes.append(asked.lines()[-2:])
    assert notes == [
        [("error", f"{name} answers nothing here; these keys do:"), KEYS] for name in ("“x”", "Enter", "That key")
    ]
    asked.press("y")
    assert asked.answer == Answer("accept")


def test_what_is_typed_right_after_an_answer_does_not_change_it() -> None:
    asked = guarded(APPROVAL)
    for key in "y/n":
        asked.press(key)
    assert asked.answer == Answer("accept")


def test_a_form_is_sent_as_before() -> None:
    asked = guarded(FillForm("s", "Seat?", {"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    asked.enter("x")
    asked.press("back")
    asked.enter("7")
    asked.press("enter")
    assert asked.answer == Answer("accept", {"n": 7})
