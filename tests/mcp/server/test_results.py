from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

import mcp_types
import pytest
import typing_extensions
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agent.mcp.server.content import Image, ToolResult
from agent.mcp.server.results import ResultFault, Returns
from agent.mcp.server.signature import SignatureError

NEWEST = "2025-11-25"


class Weather(BaseModel):
    city: str
    degrees: float = Field(alias="temp")


@dataclass
class Sum:
    total: int


class Row(TypedDict):
    id: int
    note: NotRequired[str]


class Tree(typing_extensions.TypedDict):
    children: list[Tree]


class Opaque:
    def __str__(self) -> str:
        return "opaque"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("hint", "value", "structured", "words"),
    [
        (int, 8, {"result": 8}, "8"),
        (float, 1.5, {"result": 1.5}, "1.5"),
        (bool, True, {"result": True}, "true"),
        (list[int], [1, 2], {"result": [1, 2]}, "[1,2]"),
        (list[str], [], {"result": []}, "[]"),
        (int | None, None, {"result": None}, "null"),
        (str | int, "x", {"result": "x"}, "x"),
        (Annotated[int, Field(ge=0)], 8, {"result": 8}, "8"),
        (dict[str, int], {"a": 1}, {"a": 1}, '{"a":1}'),
        (dict, {"a": 1}, {"a": 1}, '{"a":1}'),
        (Weather, Weather(city="Oslo", temp=3), {"city": "Oslo", "temp": 3.0}, '{"city":"Oslo","temp":3.0}'),
        (Weather, {"city": "Oslo", "temp": 3}, {"city": "Oslo", "temp": 3.0}, '{"city":"Oslo","temp":3.0}'),
        (Sum, Sum(3), {"total": 3}, '{"total":3}'),
        (Row, {"id": 1}, {"id": 1}, '{"id":1}'),
        (list[Row], [{"id": 1, "note": "n"}], {"result": [{"id": 1, "note": "n"}]}, '[{"id":1,"note":"n"}]'),
        (Tree, {"children": [{"children": []}]}, {"children": [{"children": []}]}, '{"children":[{"children":[]}]}'),
    ],
)  # fmt: skip
def test_data_is_structured_and_shown_as_json(hint: Any, value: Any, structured: Any, words: str) -> None:
    returns = Returns("tool", hint)
    assert returns.result(value, NEWEST) == {"content": [text(words)], "structuredContent": structured}
    assert returns.schema is not None
    assert returns.schema["type"] == "object"
    Draft202012Validator(returns.schema).validate(structured)


@pytest.mark.parametrize(
    ("hint", "value", "content"),
    [
        (str, "hi", [text("hi")]),
        (str | None, None, []),
        (None, None, []),
        (Any, {"a": 1}, [text('{"a":1}')]),
        (Opaque, Opaque(), [text('"opaque"')]),
        (Image, Image(b"x"), [Image(b"x").block()]),
        (list[Image], [Image(b"x")], [Image(b"x").block()]),
        (list[str | Image], ["a", Image(b"x")], [text("a"), Image(b"x").block()]),
        (tuple[str, Image], ("a", Image(b"x")), [text("a"), Image(b"x").block()]),
        (mcp_types.TextContent, mcp_types.TextContent(type="text", text="hi"), [text("hi")]),
        (list[mcp_types.ContentBlock], [mcp_types.TextContent(type="text", text="hi")], [text("hi")]),
    ],
)
def test_prose_and_content_are_content_alone(hint: Any, value: Any, content: list[Any]) -> None:
    returns = Returns("tool", hint)
    assert returns.schema is None
    assert returns.result(value, NEWEST) == {"content": content}


def test_the_author_may_decide() -> None:
    assert Returns("tool", int, structured=False).result(8, NEWEST) == {"content": [text("8")]}
    assert Returns("tool", str, structured=True).result("hi", NEWEST) == {
        "content": [text("hi")],
        "structuredContent": {"result": "hi"},
    }
    with pytest.raises(SignatureError, match=r"^tool: Unable to generate"):
        _ = Returns("tool", Opaque, structured=True).schema


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_a_revision_without_structured_results_gets_the_text(revision: str) -> None:
    assert Returns("tool", int).result(8, revision) == {"content": [text("8")]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ToolResult("no", is_error=True), {"content": [text("no")], "isError": True}),
        (ToolResult(structured={"a": 1}), {"content": [text('{"a":1}')], "structuredContent": {"a": 1}}),
        (ToolResult("x", meta={"k": 1}), {"content": [text("x")], "_meta": {"k": 1}}),
        (
            mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="x")], is_error=True),
            {"content": [text("x")], "isError": True},
        ),
    ],
)
def test_a_tool_may_return_its_whole_result(value: Any, expected: dict[str, Any]) -> None:
    assert Returns("tool", ToolResult).result(value, NEWEST) == expected


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (int, "eight", "result: Input should be a valid integer"),
        (Sum, {"total": None}, "total: Input should be a valid integer"),
        (Weather, None, "the value: Input should be a valid dictionary"),
    ],
)
def test_a_value_that_was_not_declared_is_a_fault(hint: Any, value: Any, words: str) -> None:
    with pytest.raises(ResultFault, match=f"^tool returned what it does not declare: {words}"):
        Returns("tool", hint).result(value, NEWEST)
