"""Arguments as a person types them: a JSON object, or KEY=VALUE words read with the help of a schema."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json


class ArgumentsError(ValueError):
    """They cannot be read; the text says what would be right."""


def split_line(line: str) -> list[str]:
    """The words of a typed line; a JSON object is one word, as it stands."""
    if line.lstrip().startswith("{"):
        return [line.strip()]
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ArgumentsError(f"The quotes do not match: {line}") from error


def read_arguments(words: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool.

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
    """The arguments of a prompt, which are texts all.

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
    assert isinstance(value, dict)  # it begins with a brace
    return value


def _value(text: str, rules: Any) -> Any:
    """`text` itself where the schema wants a string, or says nothing; else the JSON that it is."""
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
