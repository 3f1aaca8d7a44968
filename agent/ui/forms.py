"""The restricted JSON Schema of an elicitation as a list of form fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

LONGEST_PATTERN = 60  # characters of a pattern that are shown

Kind = Literal["text", "integer", "number", "boolean", "choice", "choices", "json"]


@dataclass(frozen=True, slots=True)
class Choice:
    value: Any
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """One property of the form. `rules` is its schema; texts in it are the server's, not cleaned.

    Specification: client/elicitation, "Requested Schema".
    """

    name: str
    kind: Kind
    title: str
    description: str = ""
    required: bool = False
    prefill: str = ""
    choices: tuple[Choice, ...] = ()
    rules: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def numbered(self) -> bool:
        """Whether a choice may be given by its number: not if the choices look like numbers themselves."""
        return not any(str(text).strip().isdigit() for choice in self.choices for text in (choice.value, choice.title))


def form_fields(schema: dict[str, Any]) -> tuple[Field, ...]:
    """The fields of `schema`, in its order. A malformed field is read as the nearest valid kind."""
    properties = schema.get("properties")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return ()
    return tuple(
        _field(name, rules if isinstance(rules, dict) else {}, name in names) for name, rules in properties.items()
    )


def shown(field: Field, value: Any) -> str:
    """`value` as a user would type it."""
    match field.kind:
        case "boolean":
            return "yes" if value is True else "no"
        case "choice":
            return _title(field, value)
        case "choices" if isinstance(value, list):
            return ", ".join(_title(field, item) for item in value)
        case _:
            return str(value)


def hint(field: Field) -> str:
    """A short description of valid input; empty where any text is valid."""
    match field.kind:
        case "boolean":
            return "yes or no"
        case "choice":
            return "one of them"
        case "choices":
            return _joined("several, separated by commas", _counts(field, "Items"))
        case "integer" | "number":
            return _joined("a whole number" if field.kind == "integer" else "a number", bounds(field), between=" ")
        case "json":
            return "JSON"
        case _:
            counts, pattern = _counts(field, "Length"), field.rules.get("pattern")
            return _joined(
                FORMAT_HINTS.get(str(field.rules.get("format")), ""),
                f"{counts} characters" if counts else "",
                f"like {pattern[:LONGEST_PATTERN]}" if isinstance(pattern, str) else "",
            )


def _joined(*parts: str, between: str = ", ") -> str:
    return between.join(filter(None, parts))


def _counts(field: Field, of: str) -> str:
    fewest, most = bound(field, f"min{of}"), bound(field, f"max{of}")
    if fewest is not None and most is not None:
        return f"{fewest:g} to {most:g}" if fewest < most else f"exactly {fewest:g}"
    if fewest is not None:
        return f"at least {fewest:g}" if fewest > 0 else ""
    return "" if most is None else f"at most {most:g}"


def _field(name: str, rules: dict[str, Any], required: bool) -> Field:
    kind, choices = _kind(rules)
    title, description = rules.get("title"), rules.get("description")
    made = Field(
        name,
        kind,
        title if isinstance(title, str) and title else name,
        description if isinstance(description, str) else "",
        required,
        "",
        choices,
        rules,
    )
    default = rules.get("default")
    return made if default is None else _prefilled(made, shown(made, default))


def _prefilled(made: Field, text: str) -> Field:
    return Field(made.name, made.kind, made.title, made.description, made.required, text, made.choices, made.rules)


def _kind(rules: dict[str, Any]) -> tuple[Kind, tuple[Choice, ...]]:
    if choices := _choices(rules):
        return "choice", choices
    items = rules.get("items")
    if isinstance(items, dict) and (choices := _choices(items)):
        return "choices", choices
    types = rules.get("type")
    named = next((one for one in types if one != "null"), None) if isinstance(types, list) else types
    return _KINDS.get(str(named), "text"), ()


def _choices(rules: dict[str, Any]) -> tuple[Choice, ...]:
    """The choices from `enum` with or without `enumNames`, or from the `const` items of `oneOf` or `anyOf`."""
    titled = rules.get("oneOf") or rules.get("anyOf")
    if isinstance(titled, list):
        constants = [one for one in titled if isinstance(one, dict) and "const" in one]
        return tuple(Choice(one["const"], str(one.get("title") or one["const"])) for one in constants)
    values, names = rules.get("enum"), rules.get("enumNames")
    if not isinstance(values, list):
        return ()
    titles = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple(Choice(value, str(title)) for value, title in zip(values, titles, strict=True))


def bounds(field: Field) -> str:
    """The range of a number in words; empty if it is unlimited."""
    lowest, highest = bound(field, "minimum"), bound(field, "maximum")
    if lowest is not None and highest is not None:
        return f"from {lowest:g} to {highest:g}"
    if lowest is not None:
        return f"{lowest:g} or more"
    return "" if highest is None else f"{highest:g} or less"


def bound(field: Field, name: str) -> float | None:
    """The limit called `name` in the field's schema, if it is a number."""
    value = field.rules.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _title(field: Field, value: Any) -> str:
    return next((choice.title for choice in field.choices if choice.value == value), str(value))


_KINDS: dict[str, Kind] = {
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "json",
    "array": "json",
}
FORMAT_HINTS = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.com",
    "date": "a date such as 2026-01-31",
    "date-time": "a time such as 2026-01-31T09:00:00Z",
}
