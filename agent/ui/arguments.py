"""Tool and prompt arguments as typed: a JSON object, or KEY=VALUE words interpreted with the help of a schema."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json


class ArgumentsError(ValueError):
    """The arguments cannot be parsed; the text says what would be right."""


def split_line(line: str) -> list[str]:
    """Split a typed line into words as a shell does; a line that begins with a brace is one word, unchanged."""
    if line.lstrip().startswith("{"):
        return [line.strip()]
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ArgumentsError(f"The quotes do not match: {line}") from error


def read_arguments(words: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the arguments of a tool; `schema` is its input schema.

    Raises:
        ArgumentsError: they are neither a JSON object nor KEY=VALUE.
    """
    text = " ".join(words).strip()
    if text.startswith("{"):
        return _json_object(text)
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ArgumentsError(f"{word!r} is neither a JSON object nor KEY=VALUE.")
        arguments[key] = _value(value, known.get(key))
    return arguments


def read_texts(words: Sequence[str]) -> dict[str, str]:
    """Parse the arguments of a prompt, whose values are all strings.

    Raises:
        ArgumentsError: they are neither a JSON object nor KEY=VALUE.
    """
    found = read_arguments(words, {"properties": {}})
    return {key: value if isinstance(value, str) else _written(value) for key, value in found.items()}


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ArgumentsError(f"That is not valid JSON: {error}.") from error
    assert isinstance(value, dict)  # `text` begins with a brace, so it can only be an object
    return value


def _value(text: str, rules: Any) -> Any:
    """`text` itself where the schema wants a string or has no type; else `text` parsed as JSON, if it is valid."""
    kind = rules.get("type") if isinstance(rules, dict) else "string"
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return text
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _written(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value).decode()
