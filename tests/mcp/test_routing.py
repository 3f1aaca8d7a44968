"""The headers that mirror a message, both ways."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.jsonrpc import Notification, Request, Result
from agent.mcp.protocol import REVISION_KEY
from agent.mcp.routing import (
    SAFE_INTEGER,
    Mirrored,
    decode_value,
    encode_value,
    mirror,
    mirrored_arguments,
    mismatch,
    revision_of,
    routing_headers,
)

META = {"_meta": {REVISION_KEY: "2026-07-28"}}


def call(name: object = "add") -> Request:
    return Request(1, "tools/call", {"name": name, "arguments": {}, **META})


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REGION = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    ("message", "revision"),
    [
        (Request(1, "tools/list", META), "2026-07-28"),
        (Notification("x", META), "2026-07-28"),
        (Request(1, "tools/list"), None),
        (Request(1, "tools/list", {"_meta": {"progressToken": 1}}), None),
        (Request(1, "tools/list", {"_meta": None}), None),
        (Request(1, "tools/list", {"_meta": {REVISION_KEY: 7}}), None),
        (Result(1, META), None),
    ],
)
def test_a_message_of_the_stateless_era_names_its_revision(message: object, revision: str | None) -> None:
    assert revision_of(message) == revision


def test_revision_method_and_name_are_mirrored() -> None:
    assert routing_headers(call()) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }


@pytest.mark.parametrize(
    ("method", "param"),
    [("prompts/get", "name"), ("resources/read", "uri"), ("tasks/get", "taskId"), ("tasks/update", "taskId")],
)
def test_each_method_has_a_name_of_its_own_kind(method: str, param: str) -> None:
    assert routing_headers(Request(1, method, {param: "x", **META}))["mcp-name"] == "x"


@pytest.mark.parametrize("message", [call(7), Request(1, "tools/list", META), Request(1, "tools/call")])
def test_what_has_no_name_has_no_header_for_one(message: Request) -> None:
    assert "mcp-name" not in routing_headers(message)


def test_arguments_are_mirrored_under_a_prefix() -> None:
    headers = routing_headers(call(), {"Region": "ütrecht", "Count": 3, "Deep": True, "Empty": ""})
    assert {name: value for name, value in headers.items() if name.startswith("mcp-param-")} == {
        "mcp-param-region": "=?base64?w7x0cmVjaHQ=?=",
        "mcp-param-count": "3",
        "mcp-param-deep": "true",
        "mcp-param-empty": "",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain text", "plain text"),
        ("", ""),
        (-42, "-42"),
        (False, "false"),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("edge ", "=?base64?ZWRnZSA=?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("漢", "=?base64?5ryi?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("=?base64?", "=?base64?"),
        ("x?=", "x?="),
    ],
)
def test_a_value_is_written_as_it_is_where_a_header_can_hold_it(value: str | int, text: str) -> None:
    assert encode_value(value) == text
    assert decode_value(f" {text}\t") == (str(value) if isinstance(value, str) or value else "false")


@pytest.mark.parametrize(
    "text", ["=?base64?eA?=", "=?base64?e A==?=", "=?base64?eB==?=", "=?base64?/w==?=", "=?base64?é?="]
)
def test_what_the_marks_hold_must_be_base64_of_unicode(text: str) -> None:
    with pytest.raises(ValueError, match=r"base64|utf-8|ASCII"):
        decode_value(text)


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert decode_value(encode_value(text)) == text.encode("utf-8", "replace").decode()


# Which arguments.


def test_arguments_may_be_nested_in_objects() -> None:
    nested = schema(
        place=schema(region=REGION), count={"type": "integer", "x-mcp-header": "Count"}, plain={"type": "string"}
    )
    which = mirrored_arguments(nested)
    assert set(which) == {Mirrored("Region", ("place", "region"), "string"), Mirrored("Count", ("count",), "integer")}
    assert mirror({"place": {"region": "eu"}, "count": 3.0}, which) == {"Region": "eu", "Count": 3}


@pytest.mark.parametrize(
    "broken",
    [
        {"x-mcp-header": "Root", "type": "object"},
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
        schema(a={"x-mcp-header": "A"}),
        schema(a={"type": "object", "x-mcp-header": "A"}),
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "A B"}),
        schema(a={"type": "string", "x-mcp-header": "Ä"}),
        schema(a={"type": "string", "x-mcp-header": 7}),
        schema(a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"}),
        schema(a={"type": "array", "items": REGION}),
        schema(a={"type": "object", "additionalProperties": REGION}),
        {"type": "object", "anyOf": [schema(a=REGION)]},
        {"type": "object", "if": schema(a=REGION)},
        {"type": "object", "$defs": {"region": REGION}},
        {"type": "object", "patternProperties": {"^a": REGION}},
        schema(a={"type": "object", "allOf": [schema(b=REGION)]}),
    ],
)
def test_a_header_that_breaks_the_rules_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        mirrored_arguments(broken)


@pytest.mark.parametrize(
    "harmless",
    [
        None,
        True,
        [],
        {},
        {"properties": None},
        {"$defs": 7, "items": None},
        schema(a={"default": REGION, "enum": [REGION]}),
    ],
)
def test_what_only_looks_like_a_header_is_none(harmless: Any) -> None:
    assert mirrored_arguments(harmless) == ()


def test_a_schema_of_any_depth_is_read() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100_000):
        deep = {"items": deep}
    assert mirrored_arguments(deep) == ()


# Whether the headers tell the truth.

WHICH = mirrored_arguments(
    schema(
        region=REGION,
        count={"type": "integer", "x-mcp-header": "Count"},
        deep={"type": "boolean", "x-mcp-header": "Deep"},
    )
)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        (None, {}),
        ({"region": None, "count": 1.5, "deep": []}, {}),
        ({"region": "eu"}, {"mcp-param-region": "eu"}),
        ({"region": "eu"}, {"mcp-param-region": " =?base64?ZXU=?= "}),
        ({"region": ""}, {"mcp-param-region": ""}),
        ({"region": "=?base64?"}, {"mcp-param-region": "=?base64?"}),
        ({"count": 42}, {"mcp-param-count": "42.0"}),
        ({"count": 42.0}, {"mcp-param-count": "42"}),
        ({"count": SAFE_INTEGER + 1}, {}),
        ({"deep": True}, {"mcp-param-deep": "true"}),
    ],
)
def test_headers_that_mirror_a_call_are_right(arguments: dict[str, Any] | None, headers: dict[str, str]) -> None:
    assert mismatch(arguments, WHICH, headers) is None


@pytest.mark.parametrize(
    ("arguments", "headers", "fault"),
    [
        ({"region": "eu"}, {}, "header mcp-param-region is missing"),
        ({}, {"mcp-param-region": "eu"}, "header mcp-param-region mirrors nothing in the arguments"),
        ({"region": "eu"}, {"mcp-param-region": "us"}, "header mcp-param-region does not equal the argument region"),
        ({"region": "eu"}, {"mcp-param-region": "EU"}, "header mcp-param-region does not equal the argument region"),
        (
            {"region": "x"},
            {"mcp-param-region": "=?base64?eA?="},
            "header mcp-param-region does not equal the argument region",
        ),
        ({"count": 42}, {"mcp-param-count": "42.5"}, "header mcp-param-count does not equal the argument count"),
        ({"deep": True}, {"mcp-param-deep": "1"}, "header mcp-param-deep does not equal the argument deep"),
    ],
)
def test_headers_that_do_not_are_named(arguments: dict[str, Any], headers: dict[str, str], fault: str) -> None:
    assert mismatch(arguments, WHICH, headers) == fault
