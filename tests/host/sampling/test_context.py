"""What of the chat a server may be shown."""

from __future__ import annotations

from agent.chat.messages import AssistantMessage, Message, Text, ToolCall, ToolMessage, ToolResult, user
from agent.host.sampling.context import LONGEST, conversation_context, with_context

FIND = ToolCall("1", "rail__find", {}, '{"to":"NL"}')
CHAT: list[Message] = [
    user("plan it"),
    AssistantMessage(
        (Text("I look."), ToolCall("1", "rail__find", {}, '{"to":"NL"}'), ToolCall("2", "bank__pay", {}, "{}"))
    ),
    ToolMessage((ToolResult("1", (Text("ICE 5"),)), ToolResult("2", (Text("paid"),)))),
    AssistantMessage((Text("Done."),)),
]


def owner(tool: str) -> str:
    return tool.partition("__")[0]


def test_all_of_it_is_the_whole_conversation() -> None:
    assert conversation_context(CHAT, owner, None).splitlines() == [
        "user: plan it",
        "assistant: I look.",
        'assistant calls rail__find: {"to":"NL"}',
        "assistant calls bank__pay: {}",
        "tool: ICE 5",
        "tool: paid",
        "assistant: Done.",
    ]


def test_a_server_s_own_part_is_what_its_tools_were_asked_and_said() -> None:
    assert conversation_context(CHAT, owner, "rail") == 'assistant calls rail__find: {"to":"NL"}\ntool: ICE 5'


def test_of_a_long_conversation_the_end_counts() -> None:
    context = conversation_context([user("x" * LONGEST), user("the end")], owner, None)
    assert (len(context), context[0], context[-7:]) == (LONGEST + 1, "…", "the end")


def test_it_stands_beside_the_server_s_own_words() -> None:
    assert with_context("Be brief.", "user: x") == "Be brief.\n\n<context>\nuser: x\n</context>"
    assert with_context("", "user: x") == "<context>\nuser: x\n</context>"
    assert with_context("Be brief.", "") == "Be brief."
