"""Values against servers' schemas: what does not fit, and what no schema may do to us."""

from __future__ import annotations

from typing import Any

import pytest

from agent.host.schemas import DEEPEST, Unusable, mismatch

ONE_OF = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "url": {"type": "string"}},
    "oneOf": [{"required": ["id"]}, {"required": ["url"]}],
}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({}, {"anything": 1}, None),
        ({"type": "object", "required": ["a"]}, {}, "'a' is a required property"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [1, "x"]}, "a[1]: 'x' is not of type 'integer'"),
        ({"properties": {"q": {"type": ["string", "null"]}}, "required": ["q"]}, {"q": None}, None),
        ({"type": "object", "additionalProperties": False}, {"z": 1},
         "Additional properties are not allowed ('z' was unexpected)"),
        (ONE_OF, {"id": "1"}, None),
        (ONE_OF, {"id": "1", "url": "u"}, "{'id': '1', 'url': 'u'} is valid under each of {'required': ['url']}, "
         "{'required': ['id']}"),
        ({"$defs": {"k": {"enum": ["a"]}}, "properties": {"k": {"$ref": "#/$defs/k"}}}, {"k": "b"},
         "k: 'b' is not one of ['a']"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"t": {"items": [{"type": "string"}]}}},
         {"t": [1]}, "t[0]: 1 is not of type 'string'"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"const": 1}]},
         [2], "[0]: 1 was expected"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_with_its_place(
    schema: dict[str, Any], value: Any, fault: str | None
) -> None:
    assert mismatch(value, schema) == fault


@pytest.mark.parametrize("schema", [{"type": "strnig"}, {"properties": {"a": {"required": True}}}, {"required": "a"}])
def test_a_schema_that_is_none_says_nothing(schema: dict[str, Any]) -> None:
    assert mismatch({"a": 1}, schema) is None


def ladder(steps: int) -> dict[str, Any]:
    """Each step doubles the work of the one before."""
    double = {
        f"d{step}": {"anyOf": [{"$ref": f"#/$defs/d{step + 1}"}, {"$ref": f"#/$defs/d{step + 1}"}]}
        for step in range(steps)
    }
    return {"$defs": double | {f"d{steps}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$schema": "http://example.com/mine"}, "is written in a dialect of JSON Schema that is unknown here "
         "(http://example.com/mine)"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x.json"}}},
         "refers to 'http://127.0.0.1:1/x.json', which it does not hold"),
        ({"$ref": "#/$defs/none"}, "refers to '/$defs/none', which it does not hold"),
        ({"$ref": "#"}, "refers to itself too often"),
        (ladder(40), "refers to itself too often"),
        (deep(200), "is too large to be checked"),
        ({"enum": list(range(30_000))}, "is too large to be checked"),
    ],
)  # fmt: skip
def test_a_schema_that_would_take_the_network_or_for_ever_is_unusable(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(Unusable) as caught:
        mismatch({"a": 1}, schema)
    assert str(caught.value) == why


def test_one_value_s_work_is_not_counted_against_the_next() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}
    assert [mismatch(list(range(4_000)), schema) for _ in range(4)] == [None] * 4


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "(a+)+$"}}},
        {"patternProperties": {"(a+)+$": {"type": "null"}}, "additionalProperties": False},
    ],
)
def test_regular_expressions_are_left_to_the_server(schema: dict[str, Any]) -> None:
    assert mismatch({"a": "a" * 60 + "!", "a" * 60 + "!": 1}, schema) is None


def test_formats_are_checked_only_where_asked() -> None:
    schema = {"properties": {"d": {"type": "string", "format": "date"}}}
    assert mismatch({"d": "2026-02-30"}, schema) is None
    assert mismatch({"d": "2026-02-30"}, schema, formats=True) == "d: '2026-02-30' is not a 'date'"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"child": value}
    return value


TREE = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"child": {"$ref": "#/$defs/node"}}}}}


def test_a_schema_that_refers_to_itself_is_followed_as_far_as_arguments_ever_go() -> None:
    assert mismatch(nested(30), TREE) is None
    with pytest.raises(Unusable):
        mismatch(nested(190), TREE)


@pytest.mark.parametrize(
    ("keyword", "verdict"),
    [("not", "refers to itself too often"), ("items", None), ("additionalProperties", "refers to itself too often")],
)
def test_the_deepest_schema_that_is_looked_into_is_followed_safely(keyword: str, verdict: str | None) -> None:
    schema: dict[str, Any] = {"$ref": "#"}
    for _ in range(DEEPEST - 3):
        schema = {keyword: schema}
    value: Any = 1
    for _ in range(190):  # as deep as JSON is read
        value = [value] if keyword == "items" else {"a": value}
    try:
        found = mismatch(value, schema)
    except Unusable as error:
        found = str(error)
    assert found == verdict
