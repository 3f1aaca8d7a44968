from __future__ import annotations

from agent.chat.conversation import Conversation, Segment
from agent.chat.messages import AssistantMessage, Text, user
from agent.chat.provider import Request, ToolSpec

ADD, SUB = ToolSpec("add", "", {}), ToolSpec("sub", "", {})
HELLO = AssistantMessage((Text("hello"),))


def test_a_segment_lasts_while_nothing_before_the_messages_changes() -> None:
    conversation = Conversation()
    assert not conversation.begin("m", "s", (ADD,))
    conversation.add(user("1"))
    assert not conversation.begin("m", "s", (ToolSpec("add", "", {}),))
    assert conversation.segment == Segment("m", "s", (ADD,), 0)


def test_a_change_begins_a_segment_at_the_next_message() -> None:
    for change in [("n", "s", (ADD,)), ("m", "t", (ADD,)), ("m", "s", (ADD, SUB)), ("m", "s", ())]:
        conversation = Conversation()
        conversation.begin("m", "s", (ADD,))
        conversation.add(user("1"))
        conversation.add(HELLO)
        assert conversation.begin(*change)
        assert conversation.segment.start == 2


def test_a_change_before_the_first_message_breaks_nothing() -> None:
    conversation = Conversation()
    conversation.begin("m", "s", ())
    assert not conversation.begin("m", "s", (ADD,))


def test_a_loaded_history_is_not_replayed_natively() -> None:
    conversation = Conversation([user("1"), HELLO])
    conversation.begin("m", "s", ())
    assert conversation.request().native_from == 2


def test_a_tool_can_be_left_out_from_here_on() -> None:
    conversation = Conversation()
    conversation.begin("m", "s", (ADD, SUB))
    conversation.add(user("1"))
    assert conversation.leave_out("add")
    assert conversation.request(9) == Request((user("1"),), "s", (SUB,), native_from=1, max_tokens=9)
    assert not conversation.leave_out("add")
    assert not conversation.leave_out(None)
