"""What a transport carries: messages, with their metadata outside the JSON.

A transport is an `anyio.abc.ObjectStream[Envelope]` whose `receive` may also give `Closed` and `Garbled`.
stdio and memory use only `messages` and `batch`; the rest is for HTTP, where every request has its own response stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from anyio.abc import ObjectStream
from pydantic_core import to_json

from agent.mcp.jsonrpc import MalformedMessage, Message, RequestId

SALVAGED = 4 * 1024  # bytes at each end of an unreadable message that are searched for its id
EXCERPT = 200  # bytes of it that are shown to people


@dataclass(frozen=True, slots=True)
class Envelope:
    """One frame: a single message, or several if it is a `batch`.

    `about` names the request on whose stream the messages travel; `context` holds headers and authorization inbound,
    routing headers outbound.
    """

    messages: tuple[Message, ...]
    batch: bool = False
    about: RequestId | None = None
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Closed:
    """The response stream of request `about` ended without a response; `error` is the reason, if it is known."""

    about: RequestId
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Garbled:
    """Input that is not a valid message. `excerpt` is its beginning, for people.

    `id` is its id, if that could be read, and `kind` tells whether it is a response or a request. `lost` is set if it
    was certainly a message (longer than the limit): without an id, it may be the response to any pending request.
    """

    code: int
    reason: str
    excerpt: str
    id: RequestId | None = None
    kind: Literal["answer", "request", "unknown"] = "unknown"
    lost: bool = False


Inbound = Envelope | Closed | Garbled
Channel = ObjectStream[Any]
"""`send` takes an Envelope; `receive` returns an Inbound, and at the end raises EndOfStream or ConnectionLost."""

Transport = AbstractAsyncContextManager[Channel]
"""Entering it opens the connection, leaving it closes the connection gracefully."""


@runtime_checkable
class Addressed(Protocol):
    """A transport that identifies its server, and can be entered again for another connection."""

    @property
    def key(self) -> str:
        """The command line, or the origin of the URL. It may hold secrets."""
        ...


@runtime_checkable
class Located(Protocol):
    """A transport to a URL."""

    url: str


def fell_back(channel: Channel) -> bool:
    """Whether the transport fell back from Streamable HTTP to the HTTP+SSE of 2024-11-05."""
    return getattr(channel, "fell_back", False) is True


class ConnectionLost(Exception):
    """The connection was lost, or could not be opened. The text is a sentence with the reason, if it is known."""


_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')
_TAIL_ID = re.compile(_ID.pattern + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_METHOD = re.compile(rb'"method"\s*:')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]')


def misshapen(error: MalformedMessage, body: Any) -> Garbled:
    """Describe JSON that is not a message. `id` is read only from what looks like one: JSON log lines have ids too."""
    excerpt = str(to_json(body, inf_nan_mode="null")[:EXCERPT], "utf-8", "replace")
    match body:
        case {"method": _}:
            return Garbled(error.code, str(error), excerpt, error.id, "request")
        case {"result": _} | {"error": _}:
            return Garbled(error.code, str(error), excerpt, error.id, "answer")
    return Garbled(error.code, str(error), excerpt)


def garbled(code: int, reason: str, head: bytes, tail: bytes, *, lost: bool = False) -> Garbled:
    """Describe an unreadable message by its first and its last bytes."""
    excerpt = head[:EXCERPT].decode("utf-8", "replace")
    outer = _top_level(head[head.find(b"{") :][:SALVAGED])
    found = _ID.search(outer) or _TAIL_ID.search(tail[-SALVAGED:])
    if not found:
        return Garbled(code, reason, excerpt, lost=lost)
    literal = found.group(1)
    id = literal[1:-1].decode("utf-8", "replace") if literal.startswith(b'"') else int(literal)
    return Garbled(code, reason, excerpt, id, "request" if _METHOD.search(outer) else "answer", lost)


def _top_level(head: bytes) -> bytes:
    """The beginning of an object without nested values: an `id` inside a result is not that of the message."""
    kept, depth, position = bytearray(), 0, 0
    for token in _TOKEN.finditer(head):
        if depth <= 1:
            kept += head[position : token.start()]
            if token.group()[:1] == b'"':
                kept += token.group()
        position = token.end()
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token.group(), 0)
    return bytes(kept + head[position:] if depth <= 1 else kept)
