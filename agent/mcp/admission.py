"""Validation of HTTP requests by a server, with no I/O (section "Streamable HTTP").

The checks are in the order in which they are made: Host and Origin, method and media types, then whether the body is a
message, which era it belongs to, and whether the headers mirror it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.mcp.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Failure,
    MalformedMessage,
    Message,
    Notification,
    Request,
    RequestId,
    as_message,
    parse,
)
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS, STATELESS_REVISIONS
from agent.mcp.protocol import (
    CAPABILITIES_KEY,
    HEADER_MISMATCH,
    METHOD_HEADER,
    MISSING_CAPABILITY,
    NAME_HEADER,
    REVISION_HEADER,
    REVISION_KEY,
    SESSION_HEADER,
    UNSUPPORTED_REVISION,
)
from agent.mcp.routing import NAMED, decode_value, revision_of

if TYPE_CHECKING:
    from agent.mcp.transports.http_auth import Token


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"

STATUS: Mapping[int, int] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_REVISION: 400,
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a JSON-RPC error in the stateless era. Errors with other codes are sent with 200."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error response.

    `allow`, `challenge` and `retry_after` (seconds) become the headers Allow, WWW-Authenticate and Retry-After.
    """

    status: int
    failure: Failure
    allow: str | None = None
    challenge: str | None = None
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Stateless:
    """A message of the stateless era."""

    message: Request | Notification


@dataclass(frozen=True, slots=True)
class Handshaken:
    """Messages of a session of the handshake era, or the `initialize` that begins one."""

    messages: tuple[Message, ...]
    batch: bool = False


class Headers(dict[str, str]):
    """Header names in lower case to values; `repeated` are the names that occur more than once.

    `token` is the verified access token, if the server requires one.
    """

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self.repeated: set[str] = set()
        self.token: Token | None = None
        for name_bytes, value in raw:
            name = name_bytes.decode("latin-1").lower()
            if name in self:
                self.repeated.add(name)
                self[name] = f"{self[name]}, {value.decode('latin-1')}"
            else:
                self[name] = value.decode("latin-1").strip(" \t")

    @property
    def owner(self) -> str:
        """The principal that the token identifies; "" if no token is required."""
        return f"{self.token.subject} {self.token.client}" if self.token else ""


def refusal(status: int, code: int, sentence: str, id: RequestId | None = None, data: Any = None) -> Refusal:
    return Refusal(status, Failure(id, code, sentence, data))


def check_caller(headers: Mapping[str, str], hosts: Iterable[str], origins: Iterable[str]) -> Refusal | None:
    """The refusal for a Host or Origin header that is not allowed; None if both are (section "Security Warning").

    `hosts` are names without port, or `*`. An Origin is allowed if its host is that of the request or one of `hosts`,
    or if it is one of `origins`, such as `https://app.example`, or `*`.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if ANY not in hosts and _name(host) not in hosts:
        return refusal(403, INVALID_REQUEST, f"This server does not answer to the name {host!r}.")
    if origin is None or origin in origins or ANY in origins:
        return None
    place = origin.partition("://")[2].lower()
    if place and (place == host.lower() or _name(place) in hosts):
        return None
    return refusal(403, INVALID_REQUEST, f"This server does not answer pages of {origin}.")


def is_stateless(headers: Mapping[str, str]) -> bool:
    """Whether the headers name a revision of the stateless era; an unknown revision is treated as a newer one."""
    revision = headers.get(REVISION_HEADER)
    return revision is not None and revision not in HANDSHAKE_REVISIONS


def check_method(method: str, headers: Mapping[str, str]) -> Refusal | None:
    allowed = ("POST",) if is_stateless(headers) else ("GET", "POST", "DELETE")
    if method in allowed:
        return None
    sentence = f"{method} is not for this server; it takes {', '.join(allowed)}."
    return Refusal(405, Failure(None, INVALID_REQUEST, sentence), ", ".join(allowed))


def check_types(method: str, headers: Mapping[str, str]) -> Refusal | None:
    """The refusal for an Accept or Content-Type header that is not acceptable; None if both are.

    A POST must accept JSON and event streams, since which of them is sent is decided later.
    """
    wanted = {"POST": ("application/json", "text/event-stream"), "GET": ("text/event-stream",)}.get(method, ())
    accepted = headers.get("accept", "*/*")
    if missing := [kind for kind in wanted if not _accepts(accepted, kind)]:
        return refusal(406, INVALID_REQUEST, f"The Accept header must allow {' and '.join(missing)}.")
    content = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if method == "POST" and content != "application/json":
        return refusal(415, INVALID_REQUEST, f"The Content-Type must be application/json, not {content}.")
    return None


def read_post(headers: Headers, body: bytes) -> Stateless | Handshaken | Refusal:
    """The messages in the body of a POST, or the refusal."""
    try:
        parsed = parse(body)
        if isinstance(parsed, list) and parsed and not is_stateless(headers):
            return Handshaken(tuple(as_message(each) for each in parsed), batch=True)
        message = as_message(parsed)
    except MalformedMessage as error:
        return refusal(400, error.code, f"The body is {error}.", error.id)
    if not is_stateless(headers) and (revision_of(message) is None or _in_session(headers)):
        return Handshaken((message,))
    if isinstance(message, Request):
        return _check_envelope(headers, message) or Stateless(message)
    if isinstance(message, Notification):
        return _check_supported(headers.get(REVISION_HEADER) or revision_of(message), None) or Stateless(message)
    return refusal(400, INVALID_REQUEST, "In this revision servers send no requests that could be answered.")


def _in_session(headers: Mapping[str, str]) -> bool:
    return SESSION_HEADER in headers


def _check_envelope(headers: Headers, request: Request) -> Refusal | None:
    meta = (request.params or {}).get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    twice = headers.repeated & {REVISION_HEADER, METHOD_HEADER, NAME_HEADER}
    if twice:
        return refusal(400, HEADER_MISMATCH, f"Header {min(twice)} is repeated.", request.id)
    if missing := [key for key in (REVISION_KEY, CAPABILITIES_KEY) if key not in meta]:
        return refusal(400, INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.", request.id)
    if not isinstance(meta[REVISION_KEY], str):
        return refusal(400, INVALID_PARAMS, f"{REVISION_KEY} must be a string.", request.id)
    for name, said in _mirrored(request, meta[REVISION_KEY]).items():
        if fault := _differs(headers.get(name), said):
            return refusal(400, HEADER_MISMATCH, f"Header {name} {fault}.", request.id)
    return _check_supported(meta[REVISION_KEY], request.id)


def _check_supported(revision: object, id: RequestId | None) -> Refusal | None:
    if revision in STATELESS_REVISIONS:
        return None
    data = {"supported": list(STATELESS_REVISIONS), "requested": revision}
    return refusal(400, UNSUPPORTED_REVISION, "This server does not speak that revision of the protocol.", id, data)


def _mirrored(request: Request, revision: Any) -> dict[str, Any]:
    """The headers that must mirror a request, and their values."""
    name = (request.params or {}).get(NAMED.get(request.method, ""))
    named = {NAME_HEADER: name} if isinstance(name, str) else {}
    return {REVISION_HEADER: revision, METHOD_HEADER: request.method, **named}


def _differs(text: str | None, said: Any) -> str | None:
    if text is None:
        return "is missing"
    try:
        return None if decode_value(text) == said else "does not say what the body says"
    except ValueError as error:
        return f"cannot be read: {error}"


def _accepts(accepted: str, kind: str) -> bool:
    offered = {part.partition(";")[0].strip().lower() for part in accepted.split(",")}
    return not offered.isdisjoint({kind, kind.partition("/")[0] + "/*", "*/*"})


def _name(host: str) -> str:
    """A host without its port: `[::1]` of `[::1]:8000`."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()
