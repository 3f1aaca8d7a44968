from __future__ import annotations

from typing import Any

import pytest

from agent.ui.entries import InvalidEntry, is_unchecked, parse
from agent.ui.forms import Choice, Field, form_fields, hint, shown

TITLED = {
    "type": "object",
    "properties": {
        "c": {
            "type": "string",
            "title": "Colour",
            "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}],
        },
        "m": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
        "d": {"type": "string", "format": "date", "default": "2026-01-31"},
        "e": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"]},
    },
}


def field(rules: dict[str, Any], *, required: bool = False) -> Field:
    (one,) = form_fields({"properties": {"x": rules}, "required": ["x"] if required else []})
    return one


def test_titles_are_shown_constants_are_meant_and_defaults_stand_ready() -> None:
    c, m, d, e = form_fields(TITLED)
    assert (c.title, c.kind, c.choices) == ("Colour", "choice", (Choice("#f00", "Red"), Choice("#0f0", "Green")))
    assert (m.title, m.kind, m.choices) == ("m", "choices", (Choice("a", "a"), Choice("b", "b")))
    assert (d.kind, d.prefill) == ("text", "2026-01-31")
    assert e.choices == (Choice("x", "Ex"), Choice("y", "Why"))
    assert [parse(c, "Green"), parse(c, "1"), parse(e, "why")] == ["#0f0", "#f00", "y"]
    assert [parse(m, "a, b"), parse(m, "2,2, 1"), parse(m, " 1  2 "), parse(m, "2, 1 1")] == [
        ["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"],
    ]  # fmt: skip
    numbers = field({"items": {"enum": ["1 2", "3"]}})
    assert parse(numbers, "1 2, 3") == ["1 2", "3"]


@pytest.mark.parametrize(
    ("rules", "text", "value"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 10}, " 7 ", 7),
        ({"type": "integer"}, "-3", -3),
        ({"type": "number"}, "3.5", 3.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, " 7 ", 7),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "off", False),
        ({"type": "string"}, " kept as typed ", " kept as typed "),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "日本", "日本"),
        ({"type": "string", "format": "email"}, " a@b.c ", "a@b.c"),
        ({"type": "string", "format": "uri"}, "https://example.com/x", "https://example.com/x"),
        ({"type": "string", "format": "date"}, "2024-02-29", "2024-02-29"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
        ({"type": "string", "format": "unheard-of"}, "x", "x"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "abc"),
        ({"type": "string", "pattern": "("}, "a pattern we cannot read locks nothing", None),
        ({"type": ["string", "null"]}, "x", "x"),
        ({"type": ["null"]}, "x", "x"),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "array", "items": {"type": "string"}}, '["a"]', ["a"]),
        ({"enum": ["10", "2"]}, "2", "2"),
        ({"enum": ["Yes", "yes"]}, "yes", "yes"),
        ({"anyOf": [{"const": 1, "title": "One"}, {"const": 2}]}, "one", 1),
        ({}, "x", "x"),
    ],
)
def test_what_fits_becomes_a_value_of_its_type(rules: dict[str, Any], text: str, value: Any) -> None:
    parsed = parse(field(rules), text)
    assert parsed == (text if value is None else value)
    assert type(parsed) is type(text if value is None else value)


@pytest.mark.parametrize(
    ("rules", "text", "fault"),
    [
        ({"type": "integer"}, "42xyz", "A whole number, please, such as 7."),
        ({"type": "integer"}, "3.5", "A whole number, please, such as 7."),
        ({"type": "integer"}, "1e1", "A whole number, please, such as 7."),
        ({"type": "integer"}, "9" * 5000, "A whole number, please, such as 7."),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "11", "It has to be from 1 to 10."),
        ({"type": "number", "minimum": 1}, "0.5", "It has to be 1 or more."),
        ({"type": "number", "maximum": 1}, "2", "It has to be 1 or less."),
        ({"type": "number"}, "nan", "A number, please, such as 3.5."),
        ({"type": "number"}, "1e999", "A number, please, such as 3.5."),
        ({"type": "number"}, "1_000", "A number, please, such as 3.5."),
        ({"type": "boolean"}, "maybe", "Yes or no, please."),
        ({"type": "string", "minLength": 2}, "a", "At least 2 characters, please."),
        ({"type": "string", "maxLength": 2}, "abc", "At most 2 characters, please: these are 3."),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A1", "It has to match the pattern ^[a-z]+$"),
        ({"type": "string", "format": "email"}, "a b@c", "That is not an e-mail address."),
        ({"type": "string", "format": "uri"}, "no scheme", "That is not an address such as https://example.com."),
        ({"type": "string", "format": "date"}, "2026-02-30", "That is not a date such as 2026-01-31."),
        ({"type": "string", "format": "date"}, "20260131", "That is not a date such as 2026-01-31."),
        (
            {"type": "string", "format": "date-time"},
            "2026-01-31 09:00",
            "That is not a time such as 2026-01-31T09:00:00Z.",
        ),
        ({"enum": ["a", "b"]}, "3", "Please choose a number or one of the names above."),
        ({"enum": ["1", "2"]}, "3", "Please choose one of the names above."),
        ({"enum": ["a"]}, "9" * 5000, "Please choose a number or one of the names above."),
        ({"items": {"enum": ["a", "b", "c"]}, "minItems": 2}, "a", "Please choose at least 2."),
        ({"items": {"enum": ["a", "b", "c"]}, "maxItems": 2}, "a,b,c", "Please choose at most 2."),
        ({"items": {"enum": ["a"]}}, "b", "Please choose a number or one of the names above."),
        ({"type": "object"}, "{", "That is not valid JSON."),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(rules: dict[str, Any], text: str, fault: str) -> None:
    with pytest.raises(InvalidEntry) as refused:
        parse(field(rules), text)
    assert str(refused.value) == fault


def test_nothing_leaves_an_optional_field_out_and_is_refused_for_a_required_one() -> None:
    assert parse(field({"type": "string"}), "  ") is None
    with pytest.raises(InvalidEntry, match=r"^This one is needed\.$"):
        parse(field({"type": "string"}, required=True), "")


def test_no_choice_at_all_is_a_choice_where_the_schema_says_so() -> None:
    several = {"type": "array", "items": {"enum": ["a"]}}
    assert parse(field(several, required=True), "") == []
    assert parse(field(several), "") is None
    with pytest.raises(InvalidEntry, match=r"^Please choose at least 1\.$"):
        parse(field({**several, "minItems": 1}, required=True), "")


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"type": "boolean", "default": True}, "yes"),
        ({"type": "boolean", "default": "true"}, "no"),
        ({"type": "integer", "default": 0}, "0"),
        ({"enum": ["a", "b"], "enumNames": ["Ay", "Bee"], "default": "b"}, "Bee"),
        ({"enum": ["a"], "default": "unknown"}, "unknown"),
        ({"items": {"anyOf": [{"const": "a", "title": "Ay"}, {"const": "b"}]}, "default": ["a", "b"]}, "Ay, b"),
        ({"items": {"enum": ["a"]}, "default": "a"}, "a"),
        ({"type": "string"}, ""),
    ],
)
def test_a_default_stands_ready_as_a_person_would_type_it(rules: dict[str, Any], text: str) -> None:
    assert field(rules).prefill == text


@pytest.mark.parametrize(
    ("schema", "count"),
    [({}, 0), ({"properties": []}, 0), ({"properties": {"x": "nonsense"}, "required": "x"}, 1)],
)
def test_a_malformed_schema_is_still_a_form(schema: dict[str, Any], count: int) -> None:
    assert [(one.kind, one.title, one.required) for one in form_fields(schema)] == [("text", "x", False)] * count


def test_names_that_do_not_match_the_values_and_odd_constants_are_left_aside() -> None:
    assert field({"enum": ["a", "b"], "enumNames": ["only one"]}).choices == (Choice("a", "a"), Choice("b", "b"))
    assert field({"oneOf": [{"title": "no constant"}, "odd"], "type": "string"}).kind == "text"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"type": "boolean"}, "yes or no"),
        ({"enum": ["a"]}, "one of them"),
        ({"items": {"enum": ["a"]}}, "several, separated by commas"),
        ({"type": "integer"}, "a whole number"),
        ({"type": "number", "minimum": 1, "maximum": 2}, "a number from 1 to 2"),
        ({"type": "object"}, "JSON"),
        ({"type": "string", "format": "email"}, "an e-mail address"),
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 0}, ""),
        ({"type": "string", "minLength": 2, "maxLength": 5}, "2 to 5 characters"),
        ({"type": "string", "minLength": 5, "maxLength": 5}, "exactly 5 characters"),
        ({"type": "string", "minLength": 2}, "at least 2 characters"),
        ({"type": "string", "format": "email", "maxLength": 9}, "an e-mail address, at most 9 characters"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "like ^[A-Z]+$"),
        ({"items": {"enum": ["a"]}, "minItems": 1, "maxItems": 3}, "several, separated by commas, 1 to 3"),
        ({"type": "integer", "minimum": True}, "a whole number"),
    ],
)
def test_a_hint_says_what_fits(rules: dict[str, Any], words: str) -> None:
    assert hint(field(rules)) == words


def test_a_value_is_shown_as_a_person_would_type_it() -> None:
    assert shown(field({"type": "string", "title": 3, "description": 4}), "x") == "x"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 40 + "!"),
        ("((a+)+)+$", "a" * 40 + "!"),
        ("(a|aa)*$", "a" * 60 + "!"),
        ("a*a*a*a*a*x", "a" * 5_000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50),
    ],
)
@pytest.mark.timeout(5)
def test_a_pattern_that_takes_for_ever_is_left_to_the_server(pattern: str, text: str) -> None:
    assert parse(field({"type": "string", "pattern": pattern}), text) == text


@pytest.mark.parametrize(
    ("rules", "value", "unchecked"),
    [
        ({"type": "string", "pattern": "(a+)+$"}, "a" * 40, True),
        ({"type": "string", "pattern": "^\\p{L}+$"}, "a", True),
        ({"type": "string", "pattern": "^[a-z]+$"}, "a", False),
        ({"type": "string"}, "a", False),
        ({"type": "integer", "pattern": "("}, 1, False),
    ],
)
def test_what_was_not_tried_is_known(rules: dict[str, Any], value: Any, unchecked: bool) -> None:
    assert is_unchecked(field(rules), value) == unchecked


def test_an_honest_pattern_is_still_looked_at() -> None:
    with pytest.raises(InvalidEntry, match="It has to match the pattern"):
        parse(field({"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}), "ab-12")
    with pytest.raises(InvalidEntry, match="It has to match the pattern"):
        parse(field({"type": "string", "pattern": "^(ab)+$"}), "abc")
