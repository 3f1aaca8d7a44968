from __future__ import annotations

import datetime
import enum
import functools
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
import typing_extensions
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agent.mcp.server.signature import ArgumentFault, Signature, SignatureError


class Ctx:
    pass


class Point(TypedDict):
    x: int
    label: NotRequired[str]


class Line(TypedDict, total=False):
    points: list[Point]


class Linked(typing_extensions.TypedDict):
    next: NotRequired[Linked]


class Endless(TypedDict):
    next: NotRequired[Endless]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    name: str = Field(description="Who")
    age: int | None = None


@dataclass
class Box:
    width: int
    tags: list[str] = field(default_factory=list)


class Opaque:
    pass


def described(hint: Any, *defaults: Any) -> dict[str, Any]:
    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": hint}
    function.__defaults__ = defaults or None
    schema = Signature(function, Ctx).schema
    Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (Any, {}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (datetime.date, {"type": "string", "format": "date"}),
        (Annotated[int, Field(ge=1, description="n")], {"type": "integer", "minimum": 1, "description": "n"}),
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        ("int", {"type": "integer"}),
    ],
)  # fmt: skip
def test_a_hint_becomes_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert described(hint) == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("hint", [Person, Box, Point, Line, Colour, list[Point], Line | None, Linked])
def test_a_class_is_described_under_defs(hint: Any) -> None:
    schema = described(hint)
    assert schema["type"] == "object"
    assert schema["$defs"]


def test_what_a_schema_takes_arrives_converted() -> None:
    def function(
        person: Person, box: Box, point: Point, colour: Colour, day: datetime.date, line: Line, ratio: float
    ) -> None: ...

    given = {
        "person": {"name": "Ada"},
        "box": {"width": 3},
        "point": {"x": 1},
        "colour": "red",
        "day": "2026-01-31",
        "line": {"points": [{"x": 2, "label": "here"}]},
        "ratio": 1,
    }
    signature = Signature(function, Ctx)
    Draft202012Validator(signature.schema).validate(given)
    assert signature.bind(given) == {
        "person": Person(name="Ada"),
        "box": Box(3),
        "point": {"x": 1},
        "colour": Colour.RED,
        "day": datetime.date(2026, 1, 31),
        "line": {"points": [{"x": 2, "label": "here"}]},
        "ratio": 1.0,
    }


def test_defaults_are_shown_and_left_to_python() -> None:
    def function(a: int = 3, when: datetime.date = datetime.date(2026, 1, 31), what: Any = Opaque()) -> None: ...  # noqa: B008

    signature = Signature(function, Ctx)
    assert signature.schema["properties"] == {
        "a": {"type": "integer", "default": 3},
        "when": {"type": "string", "format": "date", "default": "2026-01-31"},
        "what": {},
    }
    assert "required" not in signature.schema
    assert signature.bind({}) == {}


def test_a_default_may_be_a_field() -> None:
    def function(
        many: int = Field(3, ge=0, description="How many"),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
        needed: str = Field(description="Must be there"),
    ) -> None: ...

    signature = Signature(function, Ctx)
    assert signature.required == {"needed"}
    assert signature.schema["properties"]["many"] == {
        "type": "integer",
        "minimum": 0,
        "default": 3,
        "description": "How many",
    }
    assert signature.bind({"needed": "x"}) == {"needed": "x", "many": 3, "tags": []}


def test_parameters_may_have_any_name() -> None:
    def function(schema: int, _hidden: int, self: int, copy: int, model_config: int) -> None: ...

    given = {"schema": 1, "_hidden": 2, "self": 3, "copy": 4, "model_config": 5}
    assert Signature(function, Ctx).bind(given) == given


def test_descriptions_come_from_the_docstring_unless_the_hint_has_one() -> None:
    def function(a: int, b: Annotated[int, "from the hint"], c: Annotated[int, Field(description="field")]) -> None:
        """Do it.

        Args:
            a: from the docstring
            b: not this
            c: not this
        """

    signature = Signature(function, Ctx)
    shown = {name: schema["description"] for name, schema in signature.schema["properties"].items()}
    assert shown == {"a": "from the docstring", "b": "from the hint", "c": "field"}
    assert signature.description == "Do it."


def test_the_context_is_left_out_wherever_it_stands() -> None:
    def function(a: int, ctx: Ctx, b: int, other: Ctx | None = None, last: Annotated[Ctx, "x"] = Ctx()) -> None: ...  # noqa: B008

    signature = Signature(function, Ctx)
    assert signature.names == ("a", "b")
    assert signature.context_parameters == ("ctx", "other", "last")
    assert list(signature.schema["properties"]) == ["a", "b"]


def test_a_function_without_parameters_takes_an_empty_object_only() -> None:
    def function() -> None: ...

    signature = Signature(function, Ctx)
    assert signature.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert signature.bind({}) == {}


class Counter:
    def add(self, by: int) -> int:
        return by

    async def __call__(self, by: int) -> int:
        return by


def test_methods_partials_and_objects_are_functions_too() -> None:
    def function(a: int, by: int) -> None: ...

    for callable_ in (Counter().add, Counter(), functools.partial(function, 1)):
        signature = Signature(callable_, Ctx)
        assert signature.schema["properties"]["by"]["type"] == "integer"
        assert signature.bind({"by": 2}) == {"by": 2}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "a is missing"),
        ({"a": 1, "c": 2}, "c is not a parameter"),
        ({"a": "three"}, "a: Input should be a valid integer, unable to parse string as an integer (got 'three')"),
        ({"a": 1, "b": {"x": []}}, "b.x: Input should be a valid integer (got [])"),
        ({"a": None}, "a: Input should be a valid integer (got None)"),
    ],
)
def test_a_fault_names_the_argument(given: dict[str, Any], fault: str) -> None:
    def function(a: int, b: Point = {"x": 0}) -> None: ...  # noqa: B006

    with pytest.raises(ArgumentFault) as caught:
        Signature(function, Ctx).bind(given)
    assert str(caught.value) == fault


def test_a_fault_shows_only_the_beginning_of_a_long_value() -> None:
    def function(a: int) -> None: ...

    with pytest.raises(ArgumentFault) as caught:
        Signature(function, Ctx).bind({"a": "x" * 10_000})
    assert len(str(caught.value)) < 250


def positional(a: int, /) -> None: ...
def starred(*values: int) -> None: ...
def anything(**values: int) -> None: ...


@pytest.mark.parametrize("function", [positional, starred, anything])
def test_a_parameter_without_a_name_is_refused_at_once(function: Any) -> None:
    with pytest.raises(SignatureError, match=f"{function.__name__}: parameter"):
        Signature(function, Ctx)


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [generator, async_generator])
def test_a_generator_is_refused_at_once(function: Any) -> None:
    with pytest.raises(SignatureError, match=f"^{function.__name__}: a generator has no single result"):
        Signature(function, Ctx)


def unresolved(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def schemaless(a: Opaque) -> None: ...
def calling(a: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (unresolved, "name 'Nowhere' is not defined"),
        (calling, "Cannot generate a JsonSchema for core_schema.CallableSchema"),
        (schemaless, "Unable to generate pydantic-core schema for <class '.*Opaque'>"),
    ],
)
def test_a_type_without_a_schema_is_named(function: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=f"^{function.__name__}: .*{words}"):
        _ = Signature(function, Ctx).schema


def test_a_typed_dict_that_contains_itself_is_named() -> None:
    with pytest.raises(SignatureError, match=r"^Endless: a TypedDict that contains itself"):
        described(Endless)


def test_a_typed_dict_keeps_what_it_says() -> None:
    schema = described(Line)
    assert schema["$defs"]["Line"] == {
        "type": "object",
        "title": "Line",
        "properties": {"points": {"type": "array", "items": {"$ref": "#/$defs/Point"}}},
    }
    assert schema["$defs"]["Point"]["required"] == ["x"]
    assert typing.get_type_hints(Point) == {"x": int, "label": str}
