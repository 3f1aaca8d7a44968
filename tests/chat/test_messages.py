from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from agent.chat.messages import (
    AssistantMessage,
    Audio,
    Image,
    Opaque,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    user,
)

COUNTS = st.integers(min_value=0, max_value=10**9)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        (" null ", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        (' {"a": 1, "a": 2}\n', {"a": 2}),
        ('{"a": "\\u00e9"}', {"a": "é"}),
        ("[]", None),
        ('"{}"', None),
        ("3", None),
        ("false", None),
        ("{", None),
        ("{'a': 1}", None),
        ('{"a": 1} {"b": 2}', None),
        ('{"a": NaN}', None),
        ('{"a": Infinity}', None),
        ('{"a": "\\ud800"}', None),
        ('{"a": "\ud800"}', None),
        ('{"a":' * 100_000, None),
        ('{"a": ' + "9" * 5_000 + "}", None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_arguments_are_an_object_or_none_at_all(raw: str, arguments: dict[str, Any] | None) -> None:
    assert ToolCall.parse("1", "add", raw) == ToolCall("1", "add", arguments, raw)


@given(st.dictionaries(st.text(), VALUES))
def test_what_was_written_is_read_back(arguments: dict[str, Any]) -> None:
    assert ToolCall.parse("1", "add", to_json(arguments).decode()).arguments == arguments


@given(st.text())
def test_any_raw_text_is_kept(raw: str) -> None:
    call = ToolCall.parse("1", "add", raw)
    assert (call.raw, isinstance(call.arguments, dict | None)) == (raw, True)


def test_a_reply_has_its_text_and_its_calls_apart() -> None:
    first, second = ToolCall.parse("1", "add", "{}"), ToolCall.parse("2", "echo", "{}")
    message = AssistantMessage((Text("a"), first, Text("b"), second), Stop.TOOL_USE)
    assert (message.text, message.tool_calls) == ("ab", (first, second))
    assert (AssistantMessage(()).text, AssistantMessage(()).tool_calls) == ("", ())


def test_messages_that_say_the_same_are_equal_and_can_stand_in_sets() -> None:
    def history() -> tuple[object, ...]:
        call = ToolCall.parse("1", "add", '{"a": [1]}')
        native = Opaque("openai", "responses", "gpt", ({"type": "reasoning"},))
        return (
            user("hi"),
            UserMessage((Image("aGk=", "image/png"), Audio("aGk=", "audio/wav"))),
            AssistantMessage((call,), Stop.TOOL_USE, native),
            ToolMessage((ToolResult("1", (Text("8"),), True),)),
        )

    assert history() == history()
    assert len({*history(), *history()}) == 4


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        user("hi").content = ()  # type: ignore[misc]


def test_a_picture_is_not_written_out_where_a_message_is_shown() -> None:
    shown = repr((Image("aGk=", "image/png"), Audio("aGk=", "audio/wav"), Opaque("p", "a", "m", ({"secret": 1},))))
    assert "aGk=" not in shown
    assert "secret" not in shown


def test_usage_is_summed_field_by_field() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50) == Usage(11, 22, 33, 44, 55)


@given(USAGES, USAGES, USAGES)
def test_usage_can_be_summed_in_any_order(one: Usage, two: Usage, three: Usage) -> None:
    assert (one + two) + three == three + (two + one)
    assert one + Usage() == one
