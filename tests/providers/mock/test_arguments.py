from __future__ import annotations

from typing import Any

import pytest

from agent.providers.mock.arguments import fill
from tests.providers.mock_requests import STRING

NOTE = {"properties": {"title": STRING, "body": STRING}, "required": ["title", "body"]}
SEARCH = {"properties": {"query": STRING, "limit": {"type": "integer", "default": 10}}, "required": ["query"]}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}, "7", {"x": 7}),
        ({"properties": {"x": {"anyOf": [{"type": "null"}, {"type": "number"}]}}}, "1.5", {"x": 1.5}),
        ({"properties": {"x": {"type": ["null", "integer"]}}}, "2", {"x": 2}),
        ({"properties": {"x": {"type": "array", "items": {"type": "integer"}}}}, "1, 2 and 3", {"x": [1, 2, 3]}),
        ({"properties": {"x": {"type": "string"}, "y": {"type": "string"}}}, "only the first", {"x": "only the first"}),
        ({"properties": {"x": True}, "required": ["x", "z"]}, "word", {"x": "word"}),
        ({"properties": {"x": {"const": "k", "type": "string"}}, "required": ["x"]}, "word", {"x": "k"}),
        ({"properties": {"x": {"examples": ["e"]}}, "required": ["x"]}, "", {"x": "e"}),
        ({"properties": {"x": {"type": "null"}}, "required": ["x"]}, "", {"x": None}),
        ({"properties": {"x": {"type": "array", "minItems": 2}}, "required": ["x"]}, "", {"x": ["any x", "any x"]}),
        ({"properties": {"x": {"type": "array", "minItems": "2"}}, "required": ["x"]}, "", {"x": []}),
        ({"properties": {"to": {"format": "email"}}, "required": ["to"]}, "", {"to": "someone@example.com"}),
        ({"properties": {"x": {"type": "string"}, "y": {"type": "string"}}}, "x=1 y: a b", {"x": "1", "y": "a b"}),
        ({"properties": {"seconds": {"type": "number"}}}, "seconds=1.2.3", {}),
        (NOTE, "title: shopping, body: milk; and: eggs", {"title": "shopping", "body": "milk; and: eggs"}),
        (NOTE, '"shopping" "milk and eggs"', {"title": "shopping", "body": "milk and eggs"}),
        (SEARCH, "for milk, limit 3", {"query": "milk", "limit": 3}),
        (SEARCH, "for 2 eggs", {"query": "2 eggs"}),
        ({"properties": {"path": {"type": "string"}}}, "somewhere", {"path": "somewhere"}),
        ({"properties": {"path": {"type": "string"}}}, "somewhere far over the hills", {}),
        ({"properties": {"n": {"type": "integer"}}}, "n=3 and 4", {"n": 3}),
        ({"properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}}, "n=3, m=3", {"n": 3, "m": 3}),
        ({"properties": {}}, "1 2 3", {}),
        ({"properties": None, "required": None}, "1", {}),
    ],
)  # fmt: skip
def test_arguments_follow_the_schema(schema: dict[str, Any], text: str, expected: dict[str, Any]) -> None:
    assert fill(schema, text, text)[0] == expected


def test_a_required_object_is_filled_and_one_that_holds_itself_has_an_end() -> None:
    node = {"type": "object", "properties": {"name": STRING, "next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    filled, _ = fill(
        {"properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"], "$defs": {"node": node}}, ""
    )
    assert filled["root"]["next"]["next"]["next"]
    mirror = {"properties": {"x": {"$ref": "#/properties/x"}}, "required": ["x"]}
    assert fill(mirror, "") == ({"x": "any x"}, 0)
