"""The headers that mirror a message, so that intermediaries can route it without reading the body.

Only the stateless era has them (section "Transports, Streamable HTTP, headers"): `Mcp-Method`, `Mcp-Name`, and one
`Mcp-Param-…` for each argument whose schema says `x-mcp-header`. Client and server share these rules.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.mcp.jsonrpc import Notification, Request
from agent.mcp.protocol import METHOD_HEADER, NAME_HEADER, PARAM_PREFIX, REVISION_HEADER, REVISION_KEY

NAMED: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The param of a method that `Mcp-Name` mirrors."""

SAFE_INTEGER = 2**53 - 1  # larger integers lose precision in JavaScript

_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?|")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"-?\d{1,17}(\.0*)?")
_MIRRORABLE = ("string", "integer", "boolean")


@dataclass(frozen=True, slots=True)
class Mirrored:
    """An argument to be mirrored: its header, as the schema spells it, and its path through nested objects."""

    header: str
    path: tuple[str, ...]
    type: str


def revision_of(message: object) -> str | None:
    """The revision a message of the stateless era names in its `_meta`; None for one of the handshake era."""
    if not isinstance(message, Request | Notification):
        return None
    meta = (message.params or {}).get("_meta")
    revision = meta.get(REVISION_KEY) if isinstance(meta, dict) else None
    return revision if isinstance(revision, str) else None


def routing_headers(message: Request | Notification, mirrored: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The headers for a message of the stateless era. `mirrored` is the result of `mirror` for its arguments."""
    headers = {REVISION_HEADER: revision_of(message) or "", METHOD_HEADER: encode_value(message.method)}
    name = (message.params or {}).get(NAMED.get(message.method, ""))
    if isinstance(name, str):
        headers[NAME_HEADER] = encode_value(name)
    return headers | {PARAM_PREFIX + name.lower(): encode_value(value) for name, value in (mirrored or {}).items()}


def encode_value(value: str | int | bool) -> str:
    """A value as header text: unchanged if a header can hold it, else its UTF-8 in base64 between markers."""
    text = ("false", "true")[value] if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def decode_value(text: str) -> str:
    """The inverse of `encode_value`. Raises ValueError if there is no base64 of UTF-8 between the markers."""
    encoded = _ENCODED.fullmatch(text.strip(" \t"))
    if not encoded:
        return text.strip(" \t")
    try:
        value = base64.b64decode(encoded[1], validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64: {error}") from error
    if base64.b64encode(value).decode() != encoded[1]:
        raise ValueError("no base64 as an encoder writes it")
    return value.decode()


# Arguments.


def mirrored_arguments(schema: Any) -> tuple[Mirrored, ...]:
    """Which arguments of a tool are mirrored, by its `inputSchema`.

    Raises:
        ValueError: an `x-mcp-header` breaks the rules; over HTTP such a tool may not be offered to anyone.
    """
    found: list[Mirrored] = []
    for path, part in _positions(schema):
        if "x-mcp-header" in part:
            found.append(_mirrored(path, part))
    names = [each.header.lower() for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"x-mcp-header {twice!r} stands there twice")
    return tuple(found)


def mirror(arguments: Mapping[str, Any] | None, which: tuple[Mirrored, ...]) -> dict[str, str | int | bool]:
    """Header names, without prefix, and their values. An argument that is absent, null or of another type has none."""
    values = ((each.header, _value_at(arguments, each.path)) for each in which)
    return {header: value for header, value in values if value is not None}


def mismatch(
    arguments: Mapping[str, Any] | None, which: tuple[Mirrored, ...], headers: Mapping[str, str]
) -> str | None:
    """The reason why the headers (names in lower case) do not mirror the arguments of a call; None if they do."""
    for each in which:
        value, name = _value_at(arguments, each.path), PARAM_PREFIX + each.header.lower()
        text = headers.get(name)
        if (text is None) != (value is None):
            return f"header {name} is missing" if text is None else f"header {name} mirrors nothing in the arguments"
        if text is not None and value is not None and not _mirrors(text, value):
            return f"header {name} does not equal the argument {'.'.join(each.path)}"
    return None


def _mirrors(text: str, value: str | int | bool) -> bool:
    try:
        decoded = decode_value(text)
    except ValueError:
        return False
    if isinstance(value, int) and not isinstance(value, bool) and _DECIMAL.fullmatch(decoded):
        return int(decoded.partition(".")[0]) == value
    return decoded == decode_value(encode_value(value))


def _mirrored(path: tuple[str, ...] | None, part: Mapping[str, Any]) -> Mirrored:
    header, type = part["x-mcp-header"], part.get("type")
    if not path:
        raise ValueError("x-mcp-header stands where no single argument does")
    if not isinstance(header, str) or not _TOKEN.fullmatch(header):
        raise ValueError(f"x-mcp-header of {'.'.join(path)} is no name for a header")
    if type not in _MIRRORABLE:
        raise ValueError(f"x-mcp-header of {'.'.join(path)} needs the type string, integer or boolean")
    return Mirrored(header, path, type)


def _positions(schema: Any) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every object in a schema, with the names that lead to it through `properties` alone, or None.

    Keywords that hold data, such as `default`, are skipped: their values may look like schemas.
    """
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(None, each) for each in part]
        if not isinstance(part, dict):
            continue
        yield path, part
        for keyword, value in part.items():
            if keyword == "properties" and isinstance(value, dict):
                waiting += [(None if path is None else (*path, name), each) for name, each in value.items()]
            elif keyword in _NAMED_SCHEMAS and isinstance(value, dict):
                waiting += [(None, each) for each in value.values()]
            elif keyword in _SCHEMAS:
                waiting.append((None, value))


_NAMED_SCHEMAS = {"patternProperties", "dependentSchemas", "$defs", "definitions"}
_SCHEMAS = {
    "items", "prefixItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties",
    "propertyNames", "contentSchema", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}  # fmt: skip


def _value_at(arguments: Any, path: tuple[str, ...]) -> str | int | bool | None:
    """The argument at the end of a path, if it is one that can be mirrored. 42.0 is the integer 42."""
    value = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str | bool) or (isinstance(value, int) and abs(value) <= SAFE_INTEGER):
        return value
    return None
