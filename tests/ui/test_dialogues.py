from __future__ import annotations

from typing import Any

from agent.chat.messages import ToolCall
from agent.chat.questions import Answer, ApproveTool, AwaitPage, FillForm, OpenUrl, Question, ShareRoots
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
        ("keys", "Enter takes the default, typing replaces it · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"),
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


def test_only_a_default_that_nobody_touched_is_replaced_by_typing() -> None:
    asked = form()
    replaced = [asked.is_default]
    asked.enter("Window")
    replaced.append(asked.is_default)
    asked.enter("11")
    replaced.append(asked.is_default)
    asked.press("back")
    replaced.append(asked.is_default)
    assert replaced == [False, True, False, False]


def test_a_pattern_that_was_not_tried_is_said_when_the_form_is_looked_over() -> None:
    rules = {"type": "string", "pattern": "^(a+)+$"}
    asked = form({"properties": {"a": rules, "b": rules}})
    asked.enter("a" * 60)
    asked.enter("aaa")
    assert [text for style, text in asked.lines() if style == "done"] == [
        f"  a: {'a' * 60} (not checked here against its pattern)",
        "  b: aaa",
    ]


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


def test_a_page_to_open_is_shown_whole_with_its_host_set_off_and_what_is_odd_about_it() -> None:
    warnings = ("It is not encrypted.",)
    asked = dialogue(OpenUrl("pay", "Sign in", "http://user@xn--pypal-4ve.com/a?b", "xn--pypal-4ve.com", warnings))
    assert asked.lines() == [
        ("title", "pay asks you to open a page on"),
        ("host", "  xn--pypal-4ve.com"),
        ("warning", "! It is not encrypted."),
        ("body", "Sign in"),
        ("body", "http://user@xn--pypal-4ve.com/a?b"),
        ("keys", "y open it in the browser · m I open it myself · n no · Ctrl-C cancel"),
    ]
    assert answers_to(OpenUrl("pay", "Sign in", "https://a", "a"), "y", "m", "n", "decline", "cancel", "x") == [
        Answer("accept"),
        Answer("accept", {"open": False}),
        Answer("decline"),
        Answer("decline"),
        Answer("cancel"),
        None,
    ]


def test_a_long_address_is_shown_in_part_and_can_be_seen_whole() -> None:
    url = f"https://example.com/{'x' * 5_000}"
    asked = dialogue(OpenUrl("pay", "Sign in", url, "example.com"))
    assert asked.lines()[3] == ("body", f"{url[:1000]}… (v or ? shows all)")
    assert asked.details == f"Sign in\n{url}"


def test_a_page_is_waited_for_until_the_person_is_done_or_gives_up() -> None:
    question = AwaitPage("pay", "Sign in", "https://a/b", "a")
    assert dialogue(question).lines() == [
        ("title", "pay waits until you are done on a"),
        ("body", "Sign in"),
        ("body", "https://a/b"),
        ("keys", "y I am done · o open it again · n give up · Ctrl-C cancel"),
    ]
    assert answers_to(question, "y", "o", "n", "cancel") == [
        Answer("accept"),
        Answer("accept", {"open": True}),
        Answer("decline"),
        Answer("cancel"),
    ]


def test_folders_are_shared_once_for_the_session_or_for_good() -> None:
    question = ShareRoots("files", ("/srv", "/home/\u202eme"))
    assert dialogue(question).lines() == [
        ("title", "files asks which folders you work in. May it know these?"),
        ("body", "/srv"),
        ("body", "/home/⟨U+202E⟩me"),
        ("keys", "y this time · s for this session · a always · n no, not in this session · Ctrl-C cancel"),
    ]
    assert answers_to(question, "y", "s", "a", "n") == [
        Answer("accept"),
        Answer("accept", remember="session"),
        Answer("accept", remember="always"),
        Answer("decline"),
    ]


def test_a_long_message_stands_below_who_asks_and_can_be_read_whole() -> None:
    message = "\n".join(f"line {number}" for number in range(20))
    asked = dialogue(FillForm("rail", message, SEAT))
    assert asked.lines()[:3] == [("title", "rail asks:"), ("body", "  line 0"), ("body", "  line 1")]
    assert asked.lines()[7:9] == [("body", "  … 14 more lines (? shows all)"), ("title", "1/2 Place (one of them)")]
    assert asked.details == message


def test_of_many_choices_the_first_are_shown_and_all_can_be_seen() -> None:
    choices = [f"land {number}" for number in range(300)]
    asked = form({"properties": {"land": {"enum": choices}}})
    shown = [text for style, text in asked.lines() if style == "body"]
    assert (shown[0], shown[14:]) == ("  1) land 0", ["  15) land 14", "  … 285 more (? shows all)"])
    assert asked.details.splitlines()[-1] == "  300) land 299"
    asked.enter("300")
    asked.press("enter")
    assert asked.answer == Answer("accept", {"land": "land 299"})


def test_of_many_fields_the_last_are_shown_while_filling_and_all_can_be_looked_over() -> None:
    asked = form({"properties": {f"f{number}": {"type": "integer"} for number in range(20)}})
    for number in range(20):
        asked.enter(str(number))
        assert len(asked.lines()) <= 20
    assert asked.lines()[-2:] == [
        ("done", "  … 5 more (v shows all)"),
        ("keys", "Enter send · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"),
    ]
    assert asked.details.splitlines() == [f"  f{number}: {number}" for number in range(20)]
    asked.press("back")
    assert asked.lines()[1:4] == [("done", "  … 16 more above"), ("done", "  f16: 16"), ("done", "  f17: 17")]


def answers_to(question: Question, *keys: str) -> list[Answer | None]:
    """What each key answers by itself."""
    answers = []
    for key in keys:
        asked = dialogue(question)
        asked.press(key)
        answers.append(asked.answer)
    return answers
