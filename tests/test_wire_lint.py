from __future__ import annotations

from typing import Any

import pytest

from tests.wire_lint import lint

CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}
SAID = {"type": "text", "text": "hi"}
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
CHAT_CALL = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
ITEM = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}


def messages(*contents: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    turns = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]
    return {"max_tokens": 9, "messages": turns, **more}


def tool(**schema: Any) -> dict[str, Any]:
    return {"name": "f", "input_schema": {"type": "object", **schema}}


def function(**schema: Any) -> dict[str, Any]:
    return {"function": {"name": "f", "parameters": {"type": "object", "properties": {}, **schema}}}


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("messages", messages([SAID], [SAID, CALL], [RESULT, SAID], tools=[tool()])),
    ("chat", {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, CHAT_CALL,
              {"role": "tool", "tool_call_id": "a", "content": "x"}], "tools": [function()]}),
    ("responses", {"store": False, "input": [{"role": "user", "content": []}, ITEM, OUTPUT],
                   "tools": [{**FUNCTION, "strict": False}]}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "body"), GOOD)
def test_a_good_body_has_no_faults(api: str, body: dict[str, Any]) -> None:
    assert lint(api, body) == []


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("messages", messages([SAID], temperature=1), "['temperature'] are refused"),
    ("messages", {"messages": messages([SAID])["messages"]}, "max_tokens is missing"),
    ("messages", messages([SAID], stop_sequences=[" "]), "a blank stop sequence"),
    ("messages", messages([SAID], tools=[tool(anyOf=[])]), "f: ['anyOf'] at the root"),
    ("messages", messages([SAID], tools=[tool(properties={"a[b]": {}})]), "f: property 'a[b]'"),
    ("messages", messages([SAID], tools=[tool(type="string")]), "f: the root is no object"),
    ("messages", messages([SAID], tools=[{**tool(), "name": "a.b"}]), "name 'a.b'"),
    ("messages", messages([SAID], [SAID]), "roles ['user', 'assistant'] do not alternate from user to user"),
    ("messages", messages([]), "messages.0: no content"),
    ("messages", messages([{"type": "text", "text": " "}]), "messages.0: blank text"),
    ("messages", messages([SAID], [CALL], [SAID]), "messages.2: results [] for calls ['a']"),
    ("messages", messages([RESULT]), "messages.0: results ['a'] for calls []"),
    ("messages", messages([SAID], [CALL], [SAID, RESULT]), "messages.2: results that do not come first"),
    ("messages", messages([SAID], [CALL, CALL], [RESULT, RESULT]), "messages.1: two calls with one id"),
    ("messages", messages([SAID], [CALL], [RESULT], [CALL], [RESULT]), "messages.3: two calls with one id"),
    ("messages", messages([SAID], [{**CALL, "id": ""}], [{**RESULT, "tool_use_id": ""}]), "messages.1: call id ''"),
    ("messages", messages([SAID], [{"type": "thinking", "thinking": "x"}], [SAID]),
     "messages.1: thinking without its signature"),
    ("messages", messages([{"type": "image", "source": {"media_type": "image/tiff"}}]),
     "messages.0: an image of type image/tiff"),
    ("messages", messages([{"type": "text", "text": "\ud800"}]), ".messages.0.content.0.text: half a surrogate pair"),
    ("chat", {"messages": [], "tools": [function()] * 129}, "more than 128 tools"),
    ("chat", {"messages": [], "tools": []}, "no tools, but a word about them"),
    ("chat", {"messages": [], "stop": ["a"] * 5}, "more than 4 stop sequences"),
    ("chat", {"messages": [], "tools": [{"function": {"name": "f", "parameters": {"type": "object"}}}]},
     "f: the root is no object with properties"),
    ("chat", {"messages": [], "tools": [function(**{"not": {}})]}, "f: ['not'] at the root"),
    ("chat", {"messages": [], "tools": [function(properties={"a": {"type": "array"}})]}, "f: an array without items"),
    ("chat", {"messages": [CHAT_CALL]}, "calls ['a'] are not answered"),
    ("chat", {"messages": [CHAT_CALL, {"role": "user", "content": "x"}]}, "messages.1: calls ['a'] are not answered"),
    ("chat", {"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]},
     "messages.0: a result without its call"),
    ("chat", {"messages": [CHAT_CALL, {"role": "tool", "tool_call_id": "a", "content": []}]},
     "messages.1: a result that is not text"),
    ("chat", {"messages": [{"role": "user", "content": "x"}] * 2}, "messages.1: two messages of the user in a row"),
    ("chat", {"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]},
     "messages.1: a system message that is not the first"),
    ("chat", {"messages": [{"role": "assistant", "content": ""}]}, "messages.0: an empty reply"),
    ("responses", {"input": []}, "the conversation would be stored"),
    ("responses", {"store": False, "input": [], "stop": ["x"]}, "there is no parameter stop"),
    ("responses", {"store": False, "input": [], "max_output_tokens": 15}, "max_output_tokens below 16"),
    ("responses", {"store": False, "input": [], "tools": [FUNCTION]}, "f: strict is not switched off"),
    ("responses", {"store": False, "input": [ITEM]}, "calls ['a'] are not answered"),
    ("responses", {"store": False, "input": [OUTPUT]}, "input.0: a result without its call"),
    ("responses", {"store": False, "input": [ITEM, ITEM, OUTPUT]}, "two calls with one id"),
    ("responses", {"store": False, "input": [{**ITEM, "arguments": "x"}, OUTPUT]},
     "input.0: arguments 'x' are no object"),
    ("responses", {"store": False, "input": [ITEM, {"role": "user", "content": []}, OUTPUT]},
     "input.1: calls ['a'] are not answered"),
    ("responses", {"store": False, "input": [{"type": "reasoning", "id": "r"}]},
     "input.0: reasoning that nobody can read"),
]  # fmt: skip


@pytest.mark.parametrize(("api", "body", "fault"), BAD)
def test_each_fault_is_found(api: str, body: dict[str, Any], fault: str) -> None:
    assert lint(api, body) == [fault]
