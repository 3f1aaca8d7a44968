"""What a request comes to, estimated from above."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import (
    AssistantMessage,
    Image,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    user,
)
from agent.chat.provider import Request, ToolSpec
from agent.host.sampling.size import TOKENS_PER_PICTURE, most_usage, request_tokens, text_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("x", 1),
        ("sum up" * 20, 40),
        ("漢" * 100, 150),
        ("한국어", 5),
        ("é", 1),
        ("😀", 2),
        ("ab漢", 3),
        ("\ud800", 2),
    ],
)
def test_wide_letters_count_for_at_least_a_token_each(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


def test_everything_that_goes_along_counts() -> None:
    messages = (
        UserMessage((Text("a" * 30), Image("AAAA", "image/png"))),
        AssistantMessage((Text("b" * 30), ToolCall("c", "t", {}, "c" * 30))),
        ToolMessage((ToolResult("c", (Text("d" * 30),)),)),
    )
    assert request_tokens(Request(messages, system="s" * 30)) == 50 + TOKENS_PER_PICTURE
    assert request_tokens(Request((), tools=(ToolSpec("t", "漢" * 10, {}),))) > 15


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({"max_tokens": 100}, Usage(input_tokens=10, output_tokens=100)),
        ({"max_tokens": 5}, Usage(input_tokens=10, output_tokens=16)),
        ({"max_tokens": 100, "tool_choice": "required"}, Usage(input_tokens=120, output_tokens=200)),
    ],
)
def test_at_most_is_what_the_api_may_charge(more: dict[str, Any], usage: Usage) -> None:
    assert most_usage(Request((user("x" * 30),), **more)) == usage
