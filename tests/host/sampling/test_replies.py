"""Native replies, found again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.chat.messages import AssistantMessage, Opaque, Stop, Text, ToolCall, user
from agent.host.sampling.replies import KEPT, Replies

NATIVE = Opaque("p", "responses", "m", ({"type": "reasoning"},))
CALLS = (ToolCall("c1", "rate", {"to": "NL"}, '{"to":"NL"}'), ToolCall("c2", "rate", {}, ""))
REPLY = AssistantMessage((Text("let me "), Text("see"), *CALLS), Stop.TOOL_USE, NATIVE)
AGAIN = AssistantMessage((Text("let me see"), *(replace(call, raw="otherwise") for call in CALLS)))


def test_a_reply_said_again_by_the_server_that_got_it_is_the_native_one() -> None:
    replies = Replies()
    replies.keep("a", REPLY)
    assert replies.recall("a", AGAIN) is REPLY


@pytest.mark.parametrize(
    "changed",
    [
        replace(AGAIN, content=AGAIN.content[:2]),
        replace(AGAIN, content=(Text("other words"), *CALLS)),
        replace(AGAIN, content=(Text("let me see"), replace(CALLS[0], arguments={"to": "DE"}), CALLS[1])),
        replace(AGAIN, content=(Text("let me see"), replace(CALLS[0], tool="other"), CALLS[1])),
        AssistantMessage((Text("let me see"),)),
    ],
)
def test_one_that_says_anything_else_is_not(changed: AssistantMessage) -> None:
    replies = Replies()
    replies.keep("a", REPLY)
    assert replies.recall("a", changed) is changed
    assert replies.recall("b", AGAIN) is AGAIN


def test_what_has_no_native_form_or_no_calls_is_left_as_it_is() -> None:
    replies = Replies()
    replies.keep("a", replace(REPLY, native=None))
    replies.keep("a", AssistantMessage((Text("x"),), native=NATIVE))
    assert replies.recall("a", AGAIN) is AGAIN
    message = user("x")
    assert replies.recall("a", message) is message


def test_only_so_many_are_kept() -> None:
    replies = Replies()
    replies.keep("a", REPLY)
    for number in range(KEPT):
        replies.keep("a", replace(REPLY, content=(ToolCall(f"n{number}", "rate", {}),)))
    assert replies.recall("a", AGAIN) is AGAIN
