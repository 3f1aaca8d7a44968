"""JSON-RPC 2.0 messages: four frozen dataclasses, and the functions that encode and decode them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

RequestId = int | str
Params = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NO_CODE = 0
"""Replaces an error code that is missing or not an integer; the error message then contains what was received."""

_REPLACED = re.compile("[\ud800-\udfff\ufffd]")
"""Lone surrogates, and the character that replaces invalid UTF-8."""


@dataclass(frozen=True, slots=True)
class Request:
    id: RequestId
    method: str
    params: Params | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: Params | None = None


@dataclass(frozen=True, slots=True)
class Result:
    id: RequestId
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """`id` is None if the sender could not read the id of the message that it refuses."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


Message = Request | Notification | Result | Failure


class MalformedMessage(ValueError):
    """The text is not a JSON-RPC 2.0 message. `code` is the error code to respond with, `id` the id, if readable."""

    def __init__(self, code: int, reason: str, id: RequestId | None = None) -> None:
        super().__init__(reason)
        self.code, self.id = code, id


def encode(message: Message) -> bytes:
    """One message as one line of JSON, without the newline. Raises TypeError or ValueError if JSON cannot hold it."""
    return _to_json(_body(message))


def encode_batch(messages: tuple[Message, ...]) -> bytes:
    """Several messages as one JSON array (2025-03-26 only)."""
    return _to_json([_body(message) for message in messages])


def decode(text: str | bytes) -> Message:
    """Raises MalformedMessage, whatever the text is."""
    return as_message(parse(text))


def parse(text: str | bytes) -> Any:
    """Parse JSON leniently: invalid UTF-8 is replaced, and a lone surrogate by "?".

    Nothing is replaced in an id, since that would be a different one: such an id counts as missing.

    Raises:
        MalformedMessage: with PARSE_ERROR, if it is not JSON.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if (mended := _mend(text)) is not None:
            return mended
        raise MalformedMessage(PARSE_ERROR, f"not JSON: {error}") from error


def as_message(body: Any) -> Message:
    """The message in parsed JSON. Tolerates null for an optional member, and a malformed error."""
    if isinstance(body, dict) and body.get("jsonrpc") == "2.0":
        if isinstance(method := body.get("method"), str):
            return _as_call(method, body)
        if (error := body.get("error")) is not None:
            return as_failure(error, body.get("id"))
        if "result" in body and "id" in body:
            return Result(_request_id(body["id"]), body["result"])
    id = as_request_id(body.get("id")) if isinstance(body, dict) else None
    raise MalformedMessage(INVALID_REQUEST, "not a JSON-RPC 2.0 message", id)


def has_json_numbers(value: Any) -> bool:
    """Whether JSON can represent every number in it: none is NaN or infinite."""
    if isinstance(value, float):
        return isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return all(map(has_json_numbers, inner))


def as_request_id(value: object) -> RequestId | None:
    """The value if it may be a request id. A bool may not: True is equal to 1 in Python."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _as_call(method: str, body: Mapping[Any, Any]) -> Request | Notification:
    params = body.get("params")
    id = _request_id(body["id"]) if "id" in body else None
    if params is not None and not isinstance(params, dict):
        raise MalformedMessage(INVALID_REQUEST, "no message: its params must be an object", id)
    return Notification(method, params) if id is None else Request(id, method, params)


def as_failure(error: Any, id: Any) -> Failure:
    """The error response; the content of a malformed error is kept in its message."""
    match error:
        case {"code": int(code), "message": str(message), **rest} if not isinstance(code, bool):
            return Failure(as_request_id(id), code, message, rest.get("data"))
        case {"message": str(message), **rest}:
            named = f" (code {json.dumps(rest['code'])})" if "code" in rest else ""
            return Failure(as_request_id(id), NO_CODE, message + named, rest.get("data"))
    return Failure(as_request_id(id), NO_CODE, error if isinstance(error, str) else json.dumps(error))


def _request_id(value: object) -> RequestId:
    if (id := as_request_id(value)) is None:
        raise MalformedMessage(INVALID_REQUEST, "no message: its id must be a Unicode string or an integer")
    return id


def _body(message: Message) -> dict[str, Any]:
    match message:
        case Request(id, method, None):
            return {"jsonrpc": "2.0", "id": id, "method": method}
        case Request(id, method, params):
            return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        case Notification(method, None):
            return {"jsonrpc": "2.0", "method": method}
        case Notification(method, params):
            return {"jsonrpc": "2.0", "method": method, "params": params}
        case Result(id, value):
            return {"jsonrpc": "2.0", "id": id, "result": value}
    error = {"code": message.code, "message": message.message} | (
        {} if message.data is None else {"data": message.data}
    )
    return {"jsonrpc": "2.0", "id": message.id, "error": error}


def _to_json(body: Any) -> bytes:
    try:
        return to_json(body, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeEncodeError):  # a lone surrogate, from a model or a file name
        return to_json(from_json(without_surrogates(body)), inf_nan_mode="null")


def _mend(text: str | bytes) -> Any | None:
    """Parse again, more slowly, what the fast parser refuses: invalid UTF-8 and lone surrogates."""
    try:
        loose = json.loads(text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text)
        for message in loose if isinstance(loose, list) else [loose]:
            if isinstance(message, dict) and not _is_unicode(message.get("id")):
                message["id"] = None
        return from_json(without_surrogates(loose), allow_inf_nan=False)
    except (ValueError, RecursionError):
        return None


def _is_unicode(id: Any) -> bool:
    return not isinstance(id, str) or not _REPLACED.search(id)


def without_surrogates(body: Any) -> bytes:
    """Encoded JSON with "?" for each lone surrogate. Raises ValueError if it is nested too deeply."""
    try:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    except RecursionError as error:
        raise ValueError("it is nested too deeply for JSON") from error
