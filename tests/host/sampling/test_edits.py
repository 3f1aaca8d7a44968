"""What a person changes in a request and in a reply."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import AssistantMessage, Image, Opaque, Stop, Text, ToolCall, ToolMessage, UserMessage, user
from agent.chat.provider import Finished, Request
from agent.chat.questions import Answer
from agent.host.sampling.edits import editable_text, edited_reply, edited_request, reply_by_hand

IMAGE = Image("AAAA", "image/png")
REQUEST = Request((user("before"), UserMessage((Text("a"), IMAGE, Text("b")))), "Be brief.", max_tokens=100)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({}, REQUEST),
        ({"text": "a\nb", "system": "Be brief.", "max_tokens": 100}, REQUEST),
        ({"system": ""}, Request(REQUEST.messages, "", max_tokens=100)),
        ({"text": "c"}, Request((user("before"), UserMessage((Text("c"), IMAGE))), "Be brief.", max_tokens=100)),
        ({"max_tokens": 7}, Request(REQUEST.messages, "Be brief.", max_tokens=7)),
        ({"max_tokens": 7_000}, REQUEST),
        ({"max_tokens": 0}, REQUEST),
        ({"text": 3, "system": None, "unknown": 1}, REQUEST),
    ],
)
def test_a_request_is_edited_in_part(edits: dict[str, Any], expected: Request) -> None:
    assert edited_request(REQUEST, edits) == expected


def test_what_no_person_wrote_is_not_edited() -> None:
    request = Request((user("x"), ToolMessage(())))
    assert editable_text(request) is None
    assert edited_request(request, {"text": "y"}) == request
    assert editable_text(Request(())) is None


def test_a_reply_by_hand_is_one_only_where_it_was_given() -> None:
    assert reply_by_hand(Answer("accept")) is None
    assert reply_by_hand(Answer("accept", {"reply": "mine"})) == Finished(
        AssistantMessage((Text("mine"),)), None, "human"
    )


def test_an_edited_reply_keeps_its_calls_and_is_nobody_s_native_one() -> None:
    call = ToolCall("c", "t", {})
    reply = AssistantMessage((Text("a"), call), Stop.TOOL_USE, Opaque("p", "chat", "m", ({},)))
    assert edited_reply(reply, Answer("accept", {"text": "b"})) == AssistantMessage((Text("b"), call), Stop.TOOL_USE)
    assert edited_reply(reply, Answer("accept", {"text": "a"})) is reply
    assert edited_reply(reply, Answer("accept")) is reply
