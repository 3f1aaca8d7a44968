"""A server's request to the model, and the reply to it, as the person looks at them and changes them."""

from __future__ import annotations

from typing import Any

from agent.chat.messages import AssistantMessage, Image, Text, ToolCall, ToolMessage, ToolResult, UserMessage, user
from agent.chat.provider import Request, ToolSpec
from agent.chat.questions import Answer, ApproveSampling, ReviewSample
from agent.ui.dialogues import Dialogue, dialogue

REQUEST = Request((user("Sum it up."),), "Be brief.", max_tokens=200)
OFFERED = (
    "y once · s for this session · a always for notes · e edit · w write the reply yourself · n no · Ctrl-C cancel"
)


def approval(request: Request = REQUEST, **more: Any) -> Dialogue:
    return dialogue(ApproveSampling("notes", "openai/gpt", request, **more))


def review(*content: Any) -> Dialogue:
    return dialogue(ReviewSample("notes", "gpt", AssistantMessage(content or (Text("It is fine."),))))


def filled(asked: Dialogue, *texts: str) -> Dialogue:
    for text in texts:
        asked.enter(text)
    asked.press("enter")
    return asked


def test_a_request_is_shown_with_its_size_its_cost_and_why_it_is_that_model() -> None:
    asked = approval(why="it hints at 'gpt'", tokens=1_234, cost=0.0123)
    assert asked.lines() == [
        ("title", "notes wants to ask openai/gpt something. Allow it?"),
        ("body", "1 message · about 1,234 tokens, at most 200 back · cost: at most $0.0123 · model: it hints at 'gpt'"),
        ("body", "system: Be brief."),
        ("body", "user: Sum it up."),
        ("keys", OFFERED),
    ]


def test_what_is_not_known_to_cost_anything_is_not_said_to_cost_nothing() -> None:
    assert approval(tokens=1).lines()[1] == ("body", "1 message · about 1 token, at most 200 back · cost: –")


def test_a_cost_that_is_nearly_nothing_does_not_read_as_nothing() -> None:
    said = [approval(cost=cost).lines()[1][1].rpartition(" · ")[2] for cost in (0.00001, 0.0001, 0.0)]
    assert said == ["cost: less than $0.0001", "cost: at most $0.0001", "cost: nothing"]


def test_an_edit_says_how_it_is_gone_on_with_and_how_to_leave_it_and_nothing_is_lost_to_a_key() -> None:
    asked = approval()
    asked.press("e")
    edits = "Enter next · Ctrl-U clears the line · Shift-Tab {} · Ctrl-X decline · Ctrl-C cancel"
    assert (asked.is_default, asked.lines()[-1]) == (False, ("keys", edits.format("leaves the edit")))
    asked.enter("Be brief.")
    assert (asked.prefill, asked.is_default) == ("Sum it up.", False)
    assert asked.lines()[-1] == ("keys", edits.format("back"))


def test_a_reply_that_is_calls_alone_has_no_text_to_edit() -> None:
    asked = review(ToolCall("c", "find", {"q": 1}))
    assert asked.lines()[-1] == (
        "keys",
        "y send · s all for this session · a always to notes · n don't · Ctrl-C cancel",
    )
    asked.press("e")
    assert (asked.typing, asked.lines()[0]) == (False, ("title", "gpt answered. Send this to notes?"))


def test_the_calls_of_a_reply_stand_above_the_text_that_is_edited() -> None:
    asked = review(Text("Let me see."), ToolCall("c", "find", {"q": 1}))
    asked.press("e")
    assert asked.lines()[:-1] == [
        ("title", "What notes will be told"),
        ("body", "calls find {"),
        ("body", '  "q": 1'),
        ("body", "}"),
        ("title", "1/1 Text beside the calls (may stay empty)"),
    ]
    assert asked.prefill == "Let me see."


def test_a_request_shows_every_kind_of_content() -> None:
    messages = (
        UserMessage((Text("look \u202ehere"), Image("AAAA", "image/png"))),
        AssistantMessage((ToolCall("c", "find", {"q": 1}),)),
        ToolMessage((ToolResult("c", (Text("found"),)),)),
    )
    asked = approval(Request(messages, tools=(ToolSpec("find", "", {}), ToolSpec("keep", "", {}))))
    assert [text for _, text in asked.lines()[2:-1]] == [
        "its own tools: find, keep",
        "user: look ⟨U+202E⟩here",
        "[image/png, 3 bytes]",
        "assistant: calls find {",
        '  "q": 1',
        "}",
        "tool: found",
    ]


def test_a_long_request_is_folded_and_can_be_read_in_full() -> None:
    asked = approval(Request((user("\n".join(map(str, range(30)))),)))
    assert asked.lines()[-2] == ("body", "… 21 more lines (v or ? shows all)")
    assert asked.details.endswith("28\n29")


def test_one_key_allows_it_for_as_long_as_it_says_or_refuses_it() -> None:
    for key, answer in {
        "y": Answer("accept"),
        "s": Answer("accept", remember="session"),
        "a": Answer("accept", remember="always"),
        "n": Answer("decline"),
        "decline": Answer("decline"),
        "cancel": Answer("cancel"),
        "x": None,
        "enter": None,
        "back": None,
    }.items():
        for asked in (approval(), review()):
            asked.press(key)
            assert asked.answer == answer, key


def test_a_request_is_edited_field_by_field_looked_over_and_then_allowed() -> None:
    asked = approval()
    asked.press("e")
    assert asked.lines()[:2] == [
        ("title", "What notes asks openai/gpt"),
        ("title", "1/3 System prompt (may stay empty)"),
    ]
    assert (asked.typing, asked.prefill) == (True, "Be brief.")
    asked.enter("")
    assert asked.prefill == "Sum it up."
    asked.enter("Sum it up in Dutch.")
    asked.enter("300")
    assert ("error", "It has to be from 1 to 200.") in asked.lines()
    filled(asked, "50")
    assert asked.answer is None
    assert asked.lines()[1:] == [
        ("body", "1 message · about 7 tokens, at most 50 back · cost: –"),
        ("body", "user: Sum it up in Dutch."),
        ("keys", OFFERED),
    ]
    asked.press("e")
    assert asked.prefill == ""
    asked.press("back")
    asked.press("y")
    assert asked.answer == Answer("accept", {"system": "", "text": "Sum it up in Dutch.", "max_tokens": 50})


def test_an_edited_request_is_said_to_cost_what_it_costs_now() -> None:
    def told(*texts: str) -> str:
        asked = approval(cost=0.01, tokens=7)
        asked.press("e")
        return filled(asked, *texts).lines()[1][1]

    assert (
        told("Be brief.", "Sum it up.", "200") == "1 message · about 7 tokens, at most 200 back · cost: at most $0.0100"
    )
    assert told("Be brief.", "x" * 51, "200") == "1 message · about 20 tokens, at most 200 back · cost: at most $0.0286"
    assert told("", "", "50") == "1 message · about 0 tokens, at most 50 back · cost: at most $0.0025"


def test_what_the_server_s_tools_said_is_not_edited() -> None:
    asked = approval(Request((user("x"), ToolMessage(())), max_tokens=5))
    asked.press("e")
    assert asked.lines()[1] == ("title", "1/2 System prompt (may stay empty)")


def test_the_person_may_write_the_reply_with_the_request_in_sight() -> None:
    asked = approval()
    asked.press("w")
    assert asked.lines() == [
        ("title", "You answer notes in the model's place"),
        ("body", "system: Be brief."),
        ("body", "user: Sum it up."),
        ("title", "1/1 Reply"),
        ("keys", "Enter next · Shift-Tab back to the request · Ctrl-X decline · Ctrl-C cancel"),
    ]
    assert filled(asked, "All is well.").answer == Answer("accept", {"reply": "All is well."})


def test_back_leads_out_of_writing_unless_nothing_else_was_to_be_had() -> None:
    asked, must = approval(), approval(by_hand=True)
    asked.press("w")
    for one in (asked, must):
        one.press("back")
    assert asked.lines()[-1] == ("keys", OFFERED)
    assert must.lines()[0] == ("title", "You answer notes in the model's place")
    assert filled(must, "mine").answer == Answer("accept", {"reply": "mine"})


def test_cancel_and_decline_settle_it_from_within_every_form() -> None:
    for key in ("cancel", "decline"):
        for begin in ("e", "w"):
            asked = approval()
            asked.press(begin)
            asked.press(key)
            assert asked.answer == Answer(key)  # type: ignore[arg-type]


def test_a_reply_is_reviewed_before_it_goes_to_the_server() -> None:
    assert review(Text("It is \u202efine."), ToolCall("c", "find", {})).lines() == [
        ("title", "gpt answered. Send this to notes?"),
        ("body", "It is ⟨U+202E⟩fine."),
        ("body", "calls find "),
        ("keys", "y send · s all for this session · a always to notes · e edit · n don't · Ctrl-C cancel"),
    ]


def test_a_reply_is_edited_and_then_sent() -> None:
    asked = review()
    asked.press("e")
    assert (asked.lines()[0], asked.prefill) == (("title", "What notes will be told"), "It is fine.")
    filled(asked, "Leave me alone.")
    assert asked.lines()[1] == ("body", "Leave me alone.")
    asked.press("y")
    assert asked.answer == Answer("accept", {"text": "Leave me alone."})


def test_a_reply_may_be_emptied() -> None:
    asked = review()
    asked.press("e")
    filled(asked, "").press("s")
    assert asked.answer == Answer("accept", {"text": ""}, remember="session")
