from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.providers.schemas import normalise, rename_keys
from tests.wire_lint import lint

FOREIGN = json.loads((Path(__file__).parent / "foreign_tools.json").read_text())

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
STRING = {"type": "string"}
NUMBER = {"type": "number"}
KIND = {"enum": ["a", "b"], "type": "string"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        None,
        True,
        [],
        "object",
        {"type": "object"},
        {"type": "object", "properties": None},
        {"type": "object", "properties": {}, "required": None},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "$id": "x"},
        {"type": ["object", "null"]},
        {"type": "string"},
        {"type": "object", "not": {}, "enum": [1], "const": 1, "if": {}, "then": {}, "else": {}},
        {"type": "object", "required": ["gone"]},
        {"$ref": "https://elsewhere.test/schema.json"},
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
    ],
)
def test_a_tool_without_arguments_has_an_empty_object(schema: Any) -> None:
    fitted = normalise(schema)
    fitted.pop("$defs", None)
    assert fitted == EMPTY


def test_required_sets_are_told_instead_of_a_root_combinator() -> None:
    fitted = normalise({**of(id=STRING, url=STRING), "oneOf": [{"required": ["id"]}, {"required": ["url"]}]})
    assert fitted == {**of(id=STRING, url=STRING),
                      "description": "Exactly one of these sets of properties is needed: id; url."}  # fmt: skip


def test_alternatives_at_the_root_become_one_object() -> None:
    one, other = {**of(content=STRING), "required": ["content"]}, {**of(source_url=STRING), "required": ["source_url"]}
    fitted = normalise({"type": "object", "description": "Save.", "anyOf": [one, other]})
    assert fitted == {
        **of(content=STRING, source_url=STRING),
        "description": "Save. At least one of these sets of properties is needed: content; source_url.",
    }


def test_what_all_alternatives_need_is_needed() -> None:
    one, other = {**of(id=STRING, a=STRING), "required": ["id", "a"]}, {**of(id=STRING), "required": ["id"]}
    assert normalise({"oneOf": [one, other]})["required"] == ["id"]


def test_all_of_adds_up() -> None:
    fitted = normalise(
        {
            "allOf": [{"$ref": "#/definitions/A"}, {**of(b=STRING), "required": ["b"]}],
            "definitions": {"A": {**of(a=NUMBER), "required": ["a"]}},
        }
    )
    assert fitted == {**of(a=NUMBER, b=STRING), "required": ["a", "b"]}


def test_alternatives_may_describe_one_property_differently() -> None:
    one, other = of(x=STRING), of(x=NUMBER)
    assert normalise({"anyOf": [one, other, one]}) == of(x={"anyOf": [STRING, NUMBER]})


def test_references_are_spelled_out_and_keep_what_stands_beside_them() -> None:
    fitted = normalise(
        {
            "$defs": {"Kind": KIND, "Q": of(limit={"type": "integer", "default": 20})},
            **of(
                k={"$ref": "#/$defs/Kind", "description": "which"},
                o={"anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}], "default": None},
                query_model={"$ref": "#/$defs/Q"},
            ),
            "required": ["query_model"],
        }
    )
    assert fitted == {
        **of(
            k={**KIND, "description": "which"},
            o={"anyOf": [KIND, {"type": "null"}], "default": None},
            query_model=of(limit={"type": "integer", "default": 20}),
        ),
        "required": ["query_model"],
    }


def test_a_recursive_definition_stays_a_definition() -> None:
    node = of(value=STRING, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    fitted = normalise({"$defs": {"Node": node, "Unused": STRING}, **of(root={"$ref": "#/$defs/Node"})})
    assert fitted == {**of(root=node), "$defs": {"Node": node}}


def test_references_into_the_schema_itself_are_followed() -> None:
    fitted = normalise(
        of(a={"type": "object", "properties": {"x/y": STRING}}, b={"$ref": "#/properties/a/properties/x~1y"})
    )
    assert fitted["properties"]["b"] == STRING


def test_definitions_that_multiply_do_not_explode() -> None:
    definitions: dict[str, Any] = {"D0": STRING}
    for level in range(1, 40):
        twice = {"$ref": f"#/$defs/D{level - 1}"}
        definitions[f"D{level}"] = of(a=twice, b=twice)
    fitted = normalise({"$defs": definitions, **of(x={"$ref": "#/$defs/D39"})})
    assert len(json.dumps(fitted)) < 200_000


def test_a_very_deep_schema_ends_somewhere() -> None:
    deep: dict[str, Any] = STRING
    for _ in range(500):
        deep = of(x=deep)
    assert json.dumps(normalise(deep)).count('"x"') < 100


def test_arrays_say_what_is_in_them() -> None:
    fitted = normalise(
        of(
            a={"type": "array"},
            n={"type": ["array", "null"]},
            t={"type": "array", "items": [NUMBER, STRING], "minItems": 2, "maxItems": 2, "additionalItems": False},
            p={"type": "array", "prefixItems": [NUMBER, NUMBER]},
            i={"type": "array", "items": True},
            d={"type": "object", "properties": {"e": {"type": "array"}}},
        )
    )
    assert fitted == of(
        a={"type": "array", "items": {}},
        n={"type": ["array", "null"], "items": {}},
        t={"type": "array", "items": {"anyOf": [NUMBER, STRING]}, "minItems": 2, "maxItems": 2},
        p={"type": "array", "items": NUMBER},
        i={"type": "array", "items": {}},
        d=of(e={"type": "array", "items": {}}),
    )


def test_types_in_a_list_are_kept() -> None:
    schema = {**of(q={"type": ["string", "null"]}, n={"type": ["integer", "string"]}), "required": ["q"]}
    assert normalise(schema) == schema


def test_what_no_draft_knows_is_left_out() -> None:
    fitted = normalise(
        of(
            a={"type": "any"},
            b={"type": None, "enum": []},
            c={"type": "string", "required": True, "anyOf": []},
            d=None,
            e=True,
            f={"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
        )
    )
    assert fitted == of(a={}, b={}, c=STRING, d={}, e={}, f={"type": "number", "exclusiveMinimum": 1, "maximum": 9})


def test_a_property_may_be_named_like_a_keyword() -> None:
    schema = of(id=STRING, items=STRING, properties=STRING, **{"$ref": STRING, "anyOf": STRING, "required": STRING})
    assert normalise(schema) == schema


def test_data_in_a_schema_is_not_taken_for_schemas() -> None:
    data = {"type": "array", "$schema": "x", "enum": []}
    schema = of(a={"default": data, "examples": [data], "const": data})
    assert normalise(schema) == schema


def test_the_server_s_schema_is_left_alone() -> None:
    schema = {"$schema": "x", **of(a={"type": "array"}), "anyOf": [{"required": ["a"]}]}
    before = json.dumps(schema)
    normalise(schema)
    assert json.dumps(schema) == before


def test_schemas_of_real_servers_are_taken_by_every_api() -> None:
    tools = [tool for server in FOREIGN.values() for tool in server]
    assert len(tools) > 10
    fitted = [(f"t{number}", normalise(tool["inputSchema"])) for number, tool in enumerate(tools)]
    chat = [{"function": {"name": name, "parameters": schema}} for name, schema in fitted]
    messages = [{"name": name, "input_schema": rename_keys(schema)[0]} for name, schema in fitted]
    assert lint("chat", {"messages": [], "tools": chat}) == []
    turns = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    assert lint("messages", {"max_tokens": 1, "messages": turns, "tools": messages}) == []


def test_names_of_arguments_that_anthropic_refuses_are_changed() -> None:
    schema = {**of(**{"filter[x]": STRING, "filter_x_": NUMBER, "größe": {}, "": {}, "l" * 70: {}, "ok": {}}),
              "required": ["filter[x]", "ok"]}  # fmt: skip
    renamed, originals = rename_keys(schema)
    assert originals == {"filter_x__1": "filter[x]", "gr__e": "größe", "_": "", "l" * 60: "l" * 70}
    assert list(renamed["properties"]) == ["filter_x__1", "filter_x_", "gr__e", "_", "l" * 60, "ok"]
    assert renamed["required"] == ["filter_x__1", "ok"]


def test_good_names_of_arguments_are_kept() -> None:
    schema = of(a=STRING)
    assert rename_keys(schema) == (schema, {})
