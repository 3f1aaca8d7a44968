from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.elicitation import Form, FormFault, SchemaForm, Visit, needs_newer, read_visit, visit_params
from agent.mcp.server.signature import SignatureError


class Meal(enum.Enum):
    FISH = "fish"
    NONE = "none"


class Order(BaseModel):
    """What you want."""

    name: str = Field(title="Your name", min_length=2, max_length=20, pattern="^[A-Z]")
    count: int = Field(1, ge=1, le=9)
    price: Annotated[float, Field(description="In euro")] = 9.5
    gift: bool = False
    size: Literal["s", "m"] = "m"
    only: Literal["a"] = "a"
    meal: Meal = Meal.NONE
    day: datetime.date | None = None
    at: datetime.time | None = None
    tags: list[Literal["x", "y"]] = Field(default=["x"], min_length=1)
    extras: list[Meal] = []


@dataclass
class Seat:
    place: Literal["window", "aisle"]
    meal: bool = False


class Answer(TypedDict):
    yes: bool


def test_every_kind_of_field_has_its_place() -> None:
    schema = Form(Order).schema
    Draft202012Validator.check_schema(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 20},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
            "price": {"type": "number", "description": "In euro", "default": 9.5},
            "gift": {"type": "boolean", "default": False},
            "size": {"type": "string", "enum": ["s", "m"], "default": "m"},
            "only": {"type": "string", "enum": ["a"], "default": "a"},
            "meal": {"type": "string", "enum": ["fish", "none"], "default": "none"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string"},
            "tags": {
                "type": "array",
                "items": {"type": "string", "enum": ["x", "y"]},
                "minItems": 1,
                "default": ["x"],
            },
            "extras": {"type": "array", "items": {"type": "string", "enum": ["fish", "none"]}, "default": []},
        },
        "required": ["name"],
    }


@pytest.mark.parametrize(
    ("fields", "answer", "read"),
    [
        (Seat, {"place": "aisle"}, Seat("aisle")),
        (Answer, {"yes": True}, {"yes": True}),
        (Order, {"name": "Ada", "meal": "fish", "count": 2.0}, Order(name="Ada", meal=Meal.FISH, count=2)),
    ],
)
def test_an_answer_becomes_what_was_asked_for(fields: Any, answer: Any, read: Any) -> None:
    assert Form(fields).read(answer) == read


def test_a_wrong_answer_is_a_fault_that_names_the_field() -> None:
    with pytest.raises(FormFault, match=r"^place: Input should be 'window' or 'aisle'; meal: Input should be a valid"):
        Form(Seat).read({"place": "roof", "meal": "maybe"})
    with pytest.raises(FormFault, match=r"'yes' is a required property"):
        SchemaForm({"type": "object", "properties": {}, "required": ["yes"]}).read({})
    with pytest.raises(FormFault, match=r"no object"):
        SchemaForm({"type": "object", "properties": {}}).read([])


class Nested(BaseModel):
    seat: Seat


class Free(BaseModel):
    tags: list[str]


class Either(BaseModel):
    value: int | str


class Numbered(enum.Enum):
    ONE = 1


class Loop(BaseModel):
    next: Loop | None = None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (Nested, "Nested.seat: a form asks for"),
        (Free, "Free.tags: a form asks for"),
        (Either, "Either.value: a form asks for"),
        (Loop, "Loop: a form cannot contain itself"),
        (int, "int: a form is a model"),
    ],
)
def test_what_is_not_flat_is_refused(fields: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=f"^{words}"):
        Form(fields)


def test_several_choices_at_once_need_the_newest_handshake() -> None:
    assert needs_newer(Form(Order).schema, "2025-06-18")
    assert not needs_newer(Form(Order).schema, "2025-11-25")
    assert not needs_newer(Form(Seat).schema, "2025-06-18")


# Pages to open.


def test_a_page_has_a_name_only_where_there_is_a_word_for_its_end() -> None:
    plain = {"mode": "url", "message": "Sign in", "url": "https://a"}
    assert visit_params("Sign in", "https://a", "2026-07-28") == plain
    one, other = (visit_params("Sign in", "https://a", "2025-11-25") for _ in range(2))
    assert one == {**plain, "elicitationId": one["elicitationId"]}
    assert one["elicitationId"] != other["elicitationId"]


def test_an_answer_is_read_for_its_action_alone() -> None:
    assert read_visit({"action": "accept", "content": {"x": 1}}, {"elicitationId": "e"}) == Visit("accept", "e")
    assert read_visit({"action": "cancel"}, {}) == Visit("cancel")


@pytest.mark.parametrize("answer", [None, [], {}, {"action": "perhaps"}])
def test_an_answer_that_is_none_is_an_error(answer: object) -> None:
    with pytest.raises(ClientRefused, match=r"^The client's answer to the page names no action\.$"):
        read_visit(answer, {})
