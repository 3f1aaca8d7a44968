from __future__ import annotations

from typing import Any

import pytest

from agent.providers.content import CallIds
from agent.providers.tool_deltas import ToolDeltas

Delta = dict[str, Any]
UNSET = object()


def piece(arguments: Any = UNSET, *, id: Any = UNSET, index: Any = UNSET, name: Any = UNSET) -> Delta:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not UNSET}
    outer = {key: value for key, value in (("id", id), ("index", index)) if value is not UNSET}
    return {**outer, **({"function": function} if function else {})}


def put_together(*chunks: list[Delta]) -> list[tuple[str, str, str]]:
    deltas = ToolDeltas()
    for chunk in chunks:
        deltas.feed(chunk)
    return [(call.id, call.tool, call.raw) for call, _ in deltas.calls(CallIds(()))]


CASES: dict[str, tuple[list[list[Delta]], list[tuple[str, str, str]]]] = {
    "the format as it is": (
        [[piece("", id="a", index=0, name="f")], [piece('{"x":', index=0)], [piece("1}", index=0)],
         [piece("{}", id="b", index=1, name="g")]],
        [("a", "f", '{"x":1}'), ("b", "g", "{}")],
    ),
    "interleaved by index": (
        [[piece("", id="a", index=0, name="f"), piece("", id="b", index=1, name="g")],
         [piece("{1", index=0), piece("{2", index=1)], [piece("}", index=1), piece("}", index=0)]],
        [("a", "f", "{1}"), ("b", "g", "{2}")],
    ),
    "no index, whole calls in chunks of their own": (
        [[piece("{}", id="a", name="f")], [piece("{}", id="b", name="g")]],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "no index, whole calls in one chunk": (
        [[piece("{}", id="a", name="f"), piece("{}", id="b", name="f")]],
        [("a", "f", "{}"), ("b", "f", "{}")],
    ),
    "another id on a used index": (
        [[piece('{"p":"a"}', id="a", index=0, name="f")], [piece('{"p":"b"}', id="b", index=0, name="f")]],
        [("a", "f", '{"p":"a"}'), ("b", "f", '{"p":"b"}')],
    ),
    "pieces with a wrong index or none": (
        [[piece('{"x":', id="A", index=0, name="f")], [piece("1}", index=0)],
         [piece('{"y":', id="B", index=0, name="f")], [piece("2", index=1)], [piece("}")]],
        [("A", "f", '{"x":1}'), ("B", "f", '{"y":2}')],
    ),
    "id and name again with every piece": (
        [[piece('{"x"', id="a", name="f")], [piece(":1}", id="a", name="f")], [piece("", id="a", name="f")]],
        [("a", "f", '{"x":1}')],
    ),
    "id and name again with every piece and an index": (
        [[piece("{}", id="a", index=0, name="f")], [piece(" ", id="a", index=0, name="f")]],
        [("a", "f", "{} ")],
    ),
    "one id for two calls": (
        [[piece('{"a":1}', id="x", index=0, name="f")], [piece('{"a":2}', id="x", index=1, name="f")]],
        [("x", "f", '{"a":1}'), ("x_2", "f", '{"a":2}')],
    ),
    "one id for two calls without an index": (
        [[piece('{"a":1}', id="x", name="f")], [piece('{"a":2}', id="x", name="f")]],
        [("x", "f", '{"a":1}'), ("x_2", "f", '{"a":2}')],
    ),
    "empty ids": (
        [[piece("{}", id="", index=0, name="f"), piece("{}", id="", index=1, name="g")]],
        [("call_1", "f", "{}"), ("call_2", "g", "{}")],
    ),
    "null ids in chunks of their own": (
        [[piece("{}", id=None, name="f")], [piece("{}", id=None, name="g")]],
        [("call_1", "f", "{}"), ("call_2", "g", "{}")],
    ),
    "no ids and no index in one chunk": (
        [[piece("", name="f"), piece("", name="g")]],
        [("call_1", "f", ""), ("call_2", "g", "")],
    ),
    "the name again without id and index": (
        [[piece('{"x":', name="f")], [piece("1}", name="f")]],
        [("call_1", "f", '{"x":1}')],
    ),
    "the id later": (
        [[piece("{", index=0, name="f")], [piece("}", index=0, id="a")]],
        [("a", "f", "{}")],
    ),
    "arguments as an object, null or missing": (
        [[piece({"x": 1}, id="a", index=0, name="f"), piece(None, id="b", index=1, name="f"),
          piece(id="c", index=2, name="f")]],
        [("a", "f", '{"x":1}'), ("b", "f", ""), ("c", "f", "")],
    ),
    "nothing at all": ([[{}], [{"function": None}]], [("call_1", "", "")]),
}  # fmt: skip


@pytest.mark.parametrize("title", CASES)
def test_calls_are_put_together(title: str) -> None:
    chunks, calls = CASES[title]
    assert put_together(*chunks) == calls


def test_what_a_server_adds_is_kept_with_its_call() -> None:
    deltas = ToolDeltas()
    deltas.feed([{**piece("{}", id="a", index=0, name="f"), "type": "function", "extra_content": {"sig": 1}}])
    assert [extra for _, extra in deltas.calls(CallIds(()))] == [{"extra_content": {"sig": 1}}]
