from __future__ import annotations

from typing import Any

from agent.chat.messages import AssistantMessage, Image, Text, ToolCall, ToolMessage, ToolResult, UserMessage, user
from agent.chat.provider import Request
from agent.chat.questions import Answer, ApproveSampling, ApproveTool, FillForm, OpenUrl, ReviewSample
from agent.ui.dialogues import Dialogue, dialogue

KEYS = ("keys", "Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel")
SEAT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"type": "string", "title": "Place", "enum": ["w", "a"], "enumNames": ["Window", "Aisle"]},
        "n": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2, "description": "how many"},
    },
    "required": ["place"],
}


def form(schema: dict[str, Any] | None = None) -> Dialogue:
    return dialogue(FillForm("rail", "Which seat?", SEAT if schema is None else schema))


def test_a_form_is_filled_field_by_field_looked_over_and_sent() -> None:
    asked = form()
    assert asked.lines() == [
        ("title", "rail asks: Which seat?"),
        ("title", "1/2 Place (one of them)"),
        ("body", "  1) Window"),
        ("body", "  2) Aisle"),
        KEYS,
    ]
    asked.enter("aisle")
    assert (asked.typing, asked.prefill) == (True, "2")
    assert asked.lines() == [
        ("title", "rail asks: Which seat?"),
        ("done", "  Place: Aisle"),
        ("title", "2/2 n (a whole number from 1 to 9, may stay empty)"),
        ("body", "  how many"),
        KEYS,
    ]
    asked.enter("7")
    assert (asked.typing, asked.answer) == (False, None)
    assert asked.lines() == [
        ("title", "rail asks: Which seat?"),
        ("done", "  Place: Aisle"),
        ("done", "  n: 7"),
        ("keys", "Enter send · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"),
    ]
    asked.press("enter")
    assert asked.answer == Answer("accept", {"place": "a", "n": 7})


def test_what_does_not_fit_is_explained_and_stays_to_be_corrected() -> None:
    asked = form()
    asked.enter("Window")
    asked.enter("11")
    assert asked.lines()[-2:] == [("error", "It has to be from 1 to 9."), KEYS]
    assert asked.prefill == "11"
    asked.enter("")
    asked.press("enter")
    assert asked.answer == Answer("accept", {"place": "w"})


def test_going_back_keeps_what_was_typed_and_a_field_emptied_then_is_left_out() -> None:
    asked = form()
    asked.enter("1")
    asked.enter("3")
    asked.press("back")
    assert asked.prefill == "3"
    asked.press("back")
    asked.press("back")
    assert asked.prefill == "1"
    asked.enter("Aisle")
    asked.enter("")
    asked.press("enter")
    assert asked.answer == Answer("accept", {"place": "a"})


def test_a_form_can_be_declined_or_cancelled_at_any_time_and_other_keys_do_nothing() -> None:
    for key, verdict in (("decline", "decline"), ("cancel", "cancel"), ("y", None), ("enter", None)):
        asked = form()
        asked.press(key)
        assert asked.answer == (None if verdict is None else Answer(verdict))  # type: ignore[arg-type]


def test_a_form_without_fields_is_accepted_with_one_key() -> None:
    asked = form({"type": "object", "properties": {}})
    assert asked.lines()[-1] == ("keys", "Enter accept · Ctrl-X decline · Ctrl-C cancel")
    asked.press("enter")
    assert asked.answer == Answer("accept", {})


def test_a_tool_is_approved_by_one_key_with_its_arguments_in_sight() -> None:
    question = ApproveTool(ToolCall("1", "rail__book", {"train": "ICE \x1b[31m5"}), "rail", "book")
    asked = dialogue(question)
    assert asked.lines() == [
        ("title", "Run rail/book?"),
        ("body", "{"),
        ("body", '  "train": "ICE \\u001b[31m5"'),
        ("body", "}"),
        ("keys", "y run it once · s for this session · n don't · Ctrl-C cancel"),
    ]
    answers = {}
    for key in ("y", "s", "n", "cancel", "x"):
        asked = dialogue(question)
        asked.press(key)
        answers[key] = asked.answer
    assert answers == {
        "y": Answer("accept"),
        "s": Answer("accept", remember="session"),
        "n": Answer("decline"),
        "cancel": Answer("cancel"),
        "x": None,
    }


def test_arguments_that_are_no_json_are_shown_as_they_came() -> None:
    asked = dialogue(ApproveTool(ToolCall("1", "t", None, "{nonsense"), "s", "t"))
    assert asked.lines()[1] == ("body", "{nonsense")


def test_a_long_question_is_folded_and_can_be_read_in_full() -> None:
    request = Request((user("\n".join(map(str, range(30)))),), "Be brief.")
    asked = dialogue(ApproveSampling("notes", "mock/demo", request))
    lines = asked.lines()
    assert lines[:4] == [
        ("title", "notes wants to ask mock/demo something. Allow it?"),
        ("body", "1 message, 88 characters"),
        ("body", "system: Be brief."),
        ("body", "user: 0"),
    ]
    assert lines[-2] == ("body", "… 22 more lines (v shows all)")
    assert asked.details.endswith("28\n29")


def test_a_sampling_request_shows_every_kind_of_content() -> None:
    messages = (
        UserMessage((Text("look"), Image("AAAA", "image/png"))),
        AssistantMessage((ToolCall("c", "find", {"q": 1}),)),
        ToolMessage((ToolResult("c", (Text("found"),)),)),
    )
    asked = dialogue(ApproveSampling("notes", "m", Request(messages)))
    assert [text for _, text in asked.lines()[1:-1]] == [
        "3 messages, 53 characters",
        "user: look",
        "[image/png, 3 bytes]",
        "assistant: calls find {",
        '  "q": 1',
        "}",
        "tool: found",
    ]


def test_a_reply_is_reviewed_before_it_goes_to_the_server() -> None:
    reply = AssistantMessage((Text("It is \u202efine."), ToolCall("c", "find", {})))
    asked = dialogue(ReviewSample("notes", "mock/demo", reply))
    assert asked.lines() == [
        ("title", "mock/demo answered. Send this to notes?"),
        ("body", "It is ⟨U+202E⟩fine."),
        ("body", "calls find "),
        ("keys", "y send · s for this session · n don't · Ctrl-C cancel"),
    ]


def test_a_page_to_open_is_shown_whole_with_its_host() -> None:
    asked = dialogue(OpenUrl("pay", "Sign in", "https://user@xn--pypal-4ve.com/a?b"))
    assert asked.lines()[:3] == [
        ("title", "pay asks you to open a page on xn--pypal-4ve.com"),
        ("body", "Sign in"),
        ("body", "https://user@xn--pypal-4ve.com/a?b"),
    ]
    asked.enter("y")
    assert asked.answer == Answer("accept")
