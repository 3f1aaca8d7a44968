"""Elicitation, form mode and URL mode (section "Client Features, Elicitation").

A form is defined by a flat type, from which its JSON Schema is made, and to which the answer is converted.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from agent.mcp.jsonrpc import INVALID_PARAMS, Params
from agent.mcp.lifecycle import at_least
from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.signature import SignatureError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Json = dict[str, Any]
T = TypeVar("T")

FORMATS = ("email", "uri", "date", "date-time")
_DESCRIBED = ("title", "description", "default")
_KEYWORDS = {
    "string": ("minLength", "maxLength", "format", "enum"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
    "array": ("minItems", "maxItems", "items"),
}
"""The schema keywords that a field of a form may have, by type (section "Elicitation, Requested Schema")."""


class FormFault(ValueError):
    """The answer does not match the form. The message says how."""


class Form(Generic[T]):
    """A form from a model, a dataclass or a TypedDict whose fields are strings, numbers, booleans or enums.

    Raises:
        SignatureError: a field has another type; forms are flat.
    """

    def __init__(self, fields: type[T]) -> None:
        from agent.mcp.server.schemas import adapter_of, json_schema

        self._adapter: TypeAdapter[T] = adapter_of(fields, fields.__name__)
        self.schema = _flat(json_schema(self._adapter, fields.__name__), fields.__name__)

    def read(self, answer: Any) -> T:
        """Raises FormFault."""
        from pydantic import ValidationError

        try:
            return self._adapter.validate_python(answer)
        except ValidationError as error:
            raise FormFault("; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in error.errors())) from None


class SchemaForm:
    """A form from a JSON Schema; the answer is a dict."""

    def __init__(self, schema: Json) -> None:
        self.schema = schema

    def read(self, answer: Any) -> Json:
        """Raises FormFault."""
        from jsonschema import Draft202012Validator

        if not isinstance(answer, dict):
            raise FormFault("the answer is no object")
        faults = list(Draft202012Validator(self.schema).iter_errors(answer))
        if faults:
            raise FormFault("; ".join(fault.message for fault in faults))
        return answer


@dataclass(frozen=True, slots=True)
class Visit:
    """The outcome of URL mode.

    `action` says whether the person consented to open the page, not that the interaction on it is complete.
    """

    action: Literal["accept", "decline", "cancel"]
    id: str | None = None


def visit_params(message: str, url: str, revision: str) -> Params:
    """The params of `elicitation/create`; the stateless era has no `elicitationId`: it does not notify completion."""
    named = {} if at_least(revision, "2026-07-28") else {"elicitationId": secrets.token_urlsafe(16)}
    return {"mode": "url", "message": message, "url": url, **named}


def read_visit(answer: Any, params: Params) -> Visit:
    """Raises ClientRefused if the answer has no valid action."""
    action = answer.get("action") if isinstance(answer, dict) else None
    if action not in ("accept", "decline", "cancel"):
        raise ClientRefused(INVALID_PARAMS, "The client's answer to the page names no action.")
    return Visit(action, params.get("elicitationId"))


def needs_newer(schema: Json, revision: str) -> bool:
    """Whether `revision` lacks a field type of the form: multiple choice."""
    several = any(field.get("type") == "array" for field in schema.get("properties", {}).values())
    return several and not at_least(revision, "2025-11-25")


def _flat(schema: Json, name: str) -> Json:
    if "$ref" in schema:
        raise SignatureError(f"{name}: a form cannot contain itself.")
    if schema.get("type") != "object":
        raise SignatureError(
            f"{name}: a form is a model, a dataclass or a TypedDict, with one field for each question."
        )
    definitions = schema.get("$defs", {})
    fields = {key: _field(f"{name}.{key}", field, definitions) for key, field in schema.get("properties", {}).items()}
    required = [key for key in schema.get("required", []) if key in fields]
    return {"type": "object", "properties": fields} | ({"required": required} if required else {})


def _field(name: str, field: Json, definitions: Json) -> Json:
    merged = _resolved(field, definitions)
    if "const" in merged:
        merged["enum"] = [merged["const"]]
    kind = merged.get("type")
    if kind not in _KEYWORDS or (kind == "array" and "enum" not in _resolved(merged.get("items", {}), definitions)):
        raise SignatureError(f"{name}: a form asks for text, numbers, yes or no, and choices among texts only.")
    kept = {key: merged[key] for key in (*_DESCRIBED, *_KEYWORDS[kind]) if merged.get(key) is not None}
    if kind == "array":
        kept["items"] = {"type": "string", "enum": _resolved(merged["items"], definitions)["enum"]}
    if kept.get("format") not in FORMATS:
        kept.pop("format", None)
    return {"type": kind} | kept


def _resolved(field: Json, definitions: Json) -> Json:
    """The field's schema with references resolved, and without the null of an optional one."""
    choices = [choice for choice in field.get("anyOf", []) if choice.get("type") != "null"]
    if len(choices) == 1:
        field = choices[0] | {key: value for key, value in field.items() if key != "anyOf"}
    if "$ref" in field:
        target = definitions[field["$ref"].removeprefix("#/$defs/")]
        return {key: value for key, value in target.items() if key != "title"} | field
    return dict(field)
