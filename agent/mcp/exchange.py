"""The headers of a Streamable HTTP request, and the meaning of its response, for a client, with no I/O.

One POST carries one message. The response belongs to that message alone: a JSON document, a stream of events, 202
Accepted, or an HTTP error (section "Transports, Streamable HTTP").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit, urlunsplit

from agent.mcp.envelope import Closed, ConnectionLost, Envelope, Garbled
from agent.mcp.framing import read_line
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.lifecycle import at_least
from agent.mcp.protocol import RESUME_HEADER, REVISION_HEADER, SESSION_HEADER
from agent.mcp.routing import revision_of, routing_headers

JSON_TYPE, EVENT_TYPE = "application/json", "text/event-stream"
EXCERPT = 160  # characters of a response body that are shown to people


class Unreachable(ConnectionLost):
    """No response arrived, or an incomplete one, so nothing is known about the kind of server."""


class Refused(ConnectionLost):
    """The server responded with HTTP `status`, and without a JSON-RPC message."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class SessionLost(Refused):
    """The server no longer knows the session: begin a new one with `initialize`, then repeat the request."""


class Unauthorized(Refused):
    """The server requires authorization (401). `challenge` is its `WWW-Authenticate`."""

    def __init__(self, sentence: str, challenge: str) -> None:
        super().__init__(sentence, 401)
        self.challenge = challenge


@dataclass(frozen=True, slots=True)
class Json:
    """The body is a JSON document."""


@dataclass(frozen=True, slots=True)
class Sse:
    """The body is a stream of events."""


@dataclass(frozen=True, slots=True)
class Unnamed:
    """The content type does not identify the format; the first bytes of the body do."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """202 Accepted, or no content."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A redirection: this request and later ones go to `url`."""

    url: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """An HTTP error."""


Meaning = Json | Sse | Unnamed | Accepted | Moved | Rejected


@dataclass(frozen=True, slots=True)
class Head:
    """A response without its body: status, headers (names in lower case), and the URL it came from."""

    url: str
    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        """`text/event-stream` for `Text/Event-Stream; charset=utf-8`."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(slots=True)
class SessionHeaders:
    """The headers that every request after the handshake repeats: the id of the session, and the revision.

    Revisions before 2025-06-18 have no header for the revision.
    """

    id: str | None = None
    revision: str | None = None

    def headers(self) -> dict[str, str]:
        headers = {SESSION_HEADER: self.id, REVISION_HEADER: self.revision}
        return {name: value for name, value in headers.items() if value is not None}

    def learn(self, item: object) -> None:
        """Set the revision, if the item is the response to `initialize`."""
        for message in item.messages if isinstance(item, Envelope) else ():
            if isinstance(message, Result) and isinstance(message.value, dict):
                revision = message.value.get("protocolVersion")
                says_so = isinstance(revision, str) and at_least(revision, "2025-06-18")
                self.revision = revision if says_so else None


def post_headers(message: Message, session: SessionHeaders, context: Mapping[str, object]) -> dict[str, str]:
    """The headers of the POST that carries `message`.

    `context["params"]` is the result of `routing.mirror` for the arguments of a tool. The other headers come from the
    message, or from the session; `initialize` begins a new session, and has no headers of the last one.
    """
    headers = {"content-type": JSON_TYPE, "accept": f"{JSON_TYPE}, {EVENT_TYPE}"}
    if isinstance(message, Request | Notification) and revision_of(message):
        params = context.get("params")
        return headers | routing_headers(message, params if isinstance(params, dict) else None)
    if isinstance(message, Request) and message.method == "initialize":
        return headers
    return headers | session.headers()


def get_headers(session: SessionHeaders, last_id: str | None = None) -> dict[str, str]:
    """The headers of the GET that opens a stream, or resumes one after event `last_id`."""
    resume = {} if last_id is None else {RESUME_HEADER: last_id}
    return {"accept": EVENT_TYPE, **session.headers(), **resume}


def read_head(head: Head) -> Meaning:
    """Raises Refused for a redirection that may not be followed."""
    if 300 <= head.status < 400:
        return Moved(_redirected(head))
    if not 200 <= head.status < 300:
        return Rejected()
    if head.status in (202, 204):
        return Accepted()
    if head.media_type == EVENT_TYPE:
        return Sse()
    return Json() if head.media_type.endswith("json") else Unnamed()


def sniff(beginning: bytes) -> Json | Sse:
    """The type of a body, by its first bytes."""
    start = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    return Sse() if re.match(rb":|(?:event|data|id|retry)\s*:", start) else Json()


def read_document(head: Head, body: bytes, about: RequestId) -> list[Envelope | Garbled | Closed]:
    """The messages of a JSON body. If none is the response to request `about`, a `Closed` with an error follows."""
    found = [attributed(item, about) for item in read_line(body)]
    if any(answers(item, about) for item in found):
        return list(found)
    messages = [item for item in found if isinstance(item, Envelope)]
    return [*messages, Closed(about, unexpected(head, body))]


def attributed(item: Envelope | Garbled, about: RequestId | None) -> Envelope | Garbled:
    """The item, with the request on whose stream it came. An error without an id gets the id of this request."""
    if about is None:
        return item
    if isinstance(item, Garbled):
        return replace(item, id=about, kind="answer") if item.lost and item.id is None else item
    named = tuple(
        replace(message, id=about) if isinstance(message, Failure) and message.id is None else message
        for message in item.messages
    )
    return Envelope(named, item.batch, about)


def answers(item: Envelope | Garbled, about: RequestId | None) -> bool:
    """Whether the item has the response to request `about`. Some servers return an id as a string."""
    if isinstance(item, Garbled):
        return item.kind == "answer" and item.id == about
    return any(isinstance(message, Result | Failure) and str(message.id) == str(about) for message in item.messages)


def read_rejection(head: Head, body: bytes, *, in_session: bool) -> Failure | Refused:
    """The JSON-RPC error in the body of an HTTP error, or else a sentence about it."""
    failures = [
        message
        for item in read_line(body)
        if isinstance(item, Envelope)
        for message in item.messages
        if isinstance(message, Failure)
    ]
    failure = failures[0] if failures else None
    said = failure.message if failure else body.decode("utf-8", "replace")
    if head.status == 401:
        sentence = f"{named(head.url)} wants to know who you are (401){_quoted(said)}."
        return Unauthorized(sentence, head.headers.get("www-authenticate", ""))
    if in_session and _is_session_loss(head, failure):
        return SessionLost(f"{named(head.url)} has forgotten this session ({head.status}).", head.status)
    if failure and head.status != 403:
        return failure
    if head.status == 403:
        return Refused(f"{named(head.url)} refuses access (403){_quoted(said)}.", 403)
    if head.status == 404 and not failure:
        return Refused(f"{named(head.url)} has no MCP endpoint there (404); check the URL.", 404)
    return unexpected(head, body)


def unexpected(head: Head, body: bytes) -> Refused:
    """The error for a response that is neither a message nor a stream."""
    kind = head.media_type or ("something without a content type" if body else "nothing")
    said = _quoted(body.decode("utf-8", "replace"))
    return Refused(f"{named(head.url)}: expected JSON or SSE, got {kind} ({head.status}){said}.", head.status)


def _is_session_loss(head: Head, failure: Failure | None) -> bool:
    """Whether the session is lost: 404 by the specification; some servers send 400 with a text about sessions."""
    if head.status == 404:
        return not (failure and failure.code == METHOD_NOT_FOUND)
    return head.status == 400 and failure is not None and "session" in failure.message.lower()


def _redirected(head: Head) -> str:
    """The URL to follow, if it has the same origin: no other server may receive the request or its credentials."""
    here, there = head.url, joined(head.url, head.headers.get("location", ""))
    if head.status in (307, 308) and origin(here) == origin(there) and there != here:
        return there
    hint = there
    if here.startswith("https:") and origin(there) == origin(here).replace("https:", "http:", 1):
        # A reverse proxy did not pass on the original scheme and host.
        hint = urlunsplit(urlsplit(there)._replace(scheme="https", netloc=urlsplit(here).netloc))
    sentence = (
        f"{named(here)} sends us elsewhere ({head.status}); if you trust that, use the URL {masked(hint)} instead."
    )
    raise Refused(sentence, head.status)


# URLs, and names for people.


def joined(url: str, reference: str) -> str:
    """A reference resolved against `url`; `url` itself if the reference is malformed."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return url


def origin(url: str) -> str:
    """`https://host:8443` of a URL, without a default or invalid port. A malformed URL is returned unchanged."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    host, _, port = parts.netloc.rpartition("@")[2].lower().rpartition(":")
    if not port.isdigit():
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"
    return f"{parts.scheme}://{host}" + ("" if port == {"http": "80", "https": "443"}.get(parts.scheme) else f":{port}")


def named(url: str) -> str:
    return f"The server at {masked(url)}"


def masked(url: str) -> str:
    """A URL that may be shown: without the parts that may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    path = re.sub(r"(?<=/)(?=[^/]*\d)[\w.~%+=-]{20,}(?=/|$)", "…", parts.path)
    query = re.sub(r"=[^&]*", "=…", parts.query)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, query, ""))


def excerpt(text: str) -> str:
    """The beginning of an untrusted text on one line, without markup, escape sequences or control characters."""
    text = re.sub(r"(?is)<(script|style)\b.*?(</\1>|$)|<[^>]*>|\x1b\[[0-9;?]*[ -/]*[@-~]", " ", text[: 40 * EXCERPT])
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _quoted(text: str) -> str:
    said = excerpt(text).rstrip(".")
    return f": {said}" if said else ""
