"""Readers and verdicts under anything: no exception but the promised ones, and no more memory than was agreed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.admission import (
    Handshaken,
    Headers,
    Refusal,
    Stateless,
    check_caller,
    check_method,
    check_types,
    read_post,
)
from agent.mcp.client.probing import Again, Modern, Older, is_modern_refusal, read_discovery, read_refusal
from agent.mcp.envelope import EXCERPT, SALVAGED, Closed, Envelope, Garbled
from agent.mcp.exchange import (
    Accepted,
    Head,
    Json,
    Moved,
    Refused,
    Rejected,
    SessionHeaders,
    Sse,
    Unnamed,
    answers,
    attributed,
    excerpt,
    masked,
    post_headers,
    read_document,
    read_head,
    read_rejection,
    sniff,
)
from agent.mcp.framing import Lines, read_line, to_line
from agent.mcp.jsonrpc import Failure, MalformedMessage, Message, Notification, Request, RequestId, decode, encode
from agent.mcp.lifecycle import (
    REVISIONS,
    HandshakeFailed,
    accept,
    declared_for,
    next_offer,
    objection,
    offers,
    settle,
)
from agent.mcp.routing import decode_value, mirror, mirrored_arguments, mismatch, routing_headers
from agent.mcp.sse import Event, EventReader, Overlong
from tests.mcp.anything import (
    arrivals,
    as_bytes,
    bodies,
    cut,
    cuts,
    ids,
    leaves,
    messages,
    methods,
    nested,
    objects,
    texts,
    texts_on_the_wire,
    values,
)

# JSON-RPC.


@given(texts_on_the_wire)
def test_any_text_is_a_message_or_malformed(text: bytes) -> None:
    with suppress(MalformedMessage):
        encode(decode(text))


@given(messages())
def test_a_message_survives_its_second_writing(message: Message) -> None:
    """The first may lose what JSON has no words for: half surrogate pairs, and numbers that are none."""
    once = encode(message)
    with suppress(MalformedMessage):  # a number too long to be read
        assert decode(encode(decode(once))) == decode(once)


@given(st.integers(150, 3_000), leaves)
def test_what_is_too_deep_to_be_written_is_a_value_error(depth: int, leaf: Any) -> None:
    with suppress(ValueError):
        encode(Request(1, "a", {"deep": nested(depth, leaf)}))


# Bytes in any pieces.


@given(st.lists(texts_on_the_wire, max_size=5).map(b"\n".join), cuts, st.integers(0, 200))
def test_lines_mean_the_same_however_they_are_cut_and_keep_no_more_than_the_limit(
    data: bytes, places: list[int], limit: int
) -> None:
    whole = Lines(limit)
    expected = whole.feed(data) + whole.end()
    lines, found = Lines(limit), []
    for piece in cut(data, places):
        found += lines.feed(piece)
        assert sum(map(len, lines._pieces)) <= limit
        assert not lines._overlong or len(lines._overlong._head) + len(lines._overlong._tail) <= 2 * SALVAGED
    assert [kind_of(item) for item in found + lines.end()] == [kind_of(item) for item in expected]


def kind_of(item: Envelope | Garbled) -> object:
    """Messages are the same; of what is lost, that it is. How much is known of that depends on what came when."""
    return repr(item) if isinstance(item, Envelope) or not item.lost else item.code


@given(texts_on_the_wire)
def test_what_is_read_of_a_line_can_be_written(line: bytes) -> None:
    for item in read_line(line):
        if isinstance(item, Garbled):
            assert len(item.excerpt) <= EXCERPT
        else:
            to_line(item)


fields = st.sampled_from([b"data", b"event", b"id", b"retry", b"", b"else", b"\xef\xbb\xbfdata", b"d"])
ends = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b""])
stream_parts = st.tuples(fields, st.sampled_from([b":", b": ", b""]), st.binary(max_size=40), ends).map(b"".join)


@given(st.lists(stream_parts, max_size=12).map(b"".join), cuts, st.integers(0, 100))
def test_events_are_the_same_however_they_are_cut_and_are_bounded(data: bytes, places: list[int], limit: int) -> None:
    whole = EventReader(limit)
    expected = whole.feed(data)
    reader, found = EventReader(limit), []
    for piece in cut(data, places):
        found += reader.feed(piece)
        assert sum(map(len, reader._data + reader._line)) <= limit
        assert not reader._excess or len(reader._excess.head) + len(reader._excess.tail) <= 2 * SALVAGED
    assert [lost_or(event) for event in found] == [lost_or(event) for event in expected]
    assert (reader.last_id, reader.retry) == (whole.last_id, whole.retry)
    assert all(len(event.data) <= limit for event in found if isinstance(event, Event))


def lost_or(event: Event | Overlong) -> object:
    return event if isinstance(event, Event) else Overlong


# HTTP, from the client.

header_names = ("content-type", "location", "www-authenticate", "mcp-session-id", "retry-after")
types = st.sampled_from(["application/json", "text/event-stream", "Application/JSON; x", "text/html", "a+json", ""])
urls = texts | st.sampled_from(["https://a.example/mcp", "http://a.example:x/", "https://[::1", "//b", "/x?k=1#f", ":"])
reply_headers = st.fixed_dictionaries({}, optional=dict.fromkeys(header_names, texts) | {"content-type": types}) | (
    st.fixed_dictionaries({"location": urls})
)
heads = st.builds(Head, urls, st.integers(100, 599), reply_headers)


@given(heads, texts_on_the_wire, ids, st.booleans())
def test_any_reply_means_something(head: Head, body: bytes, about: RequestId, in_session: bool) -> None:
    with suppress(Refused):
        assert isinstance(read_head(head), Json | Sse | Unnamed | Accepted | Moved | Rejected)
    assert isinstance(sniff(body), Json | Sse)
    assert isinstance(read_rejection(head, body, in_session=in_session), Failure | Refused)
    items = read_document(head, body, about)
    assert any(isinstance(item, Closed) or answers(item, about) for item in items)


@given(arrivals(messages()), ids | st.none(), st.builds(SessionHeaders, st.none() | texts, st.none() | texts), objects)
def test_any_message_travels_with_headers_that_are_text(
    item: Any, about: RequestId | None, session: SessionHeaders, context: dict[str, Any]
) -> None:
    if isinstance(item, Envelope | Garbled):
        attributed(item, about)
    session.learn(item)
    for message in item.messages if isinstance(item, Envelope) else ():
        headers = post_headers(message, session, context)
        assert all(isinstance(value, str) for value in headers.values())


@given(urls, st.text(st.characters(), max_size=300))
def test_what_is_shown_of_the_other_side_is_one_printable_line(url: str, body: str) -> None:
    masked(url)
    shown = excerpt(body)
    assert shown.isprintable()
    assert len(shown) <= EXCERPT


# HTTP, from the server.

request_names = ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "host", "origin", "accept", "a")
raw_headers = st.lists(
    st.tuples(
        st.sampled_from(request_names).map(str.encode) | st.binary(max_size=5),
        st.sampled_from([*REVISIONS, "tools/call", "localhost:1", "http://[::1]", "*/*", "=?base64?w6k=?="]).map(
            str.encode
        )
        | st.binary(max_size=12),
    ),
    max_size=8,
)


@given(raw_headers, texts_on_the_wire | bodies.map(as_bytes), st.sampled_from(["GET", "POST", "DELETE", "PUT"]) | texts)
def test_any_request_is_let_in_or_refused(raw: list[tuple[bytes, bytes]], body: bytes, method: str) -> None:
    headers = Headers(raw)
    for verdict in (
        check_caller(headers, ("localhost", "[::1]"), ("https://a.example",)),
        check_method(method, headers),
        check_types(method, headers),
    ):
        assert verdict is None or 400 <= verdict.status < 500
    found = read_post(headers, body)
    assert isinstance(found, Stateless | Handshaken) or found.status in (400, 404)
    if isinstance(found, Refusal):
        encode(found.failure)


@given(values | objects, values, st.dictionaries(texts, texts, max_size=3), messages())
def test_arguments_are_mirrored_or_the_schema_is_refused(
    schema: Any, arguments: Any, headers: dict[str, str], message: Message
) -> None:
    with suppress(ValueError):
        which = mirrored_arguments(schema)
        given_headers = {f"mcp-param-{name.lower()}": str(value) for name, value in mirror(arguments, which).items()}
        mismatch(arguments, which, headers)
        mismatch(arguments, which, given_headers)
    if isinstance(message, Request | Notification):
        assert all(
            value.isascii() for name, value in routing_headers(message).items() if name != "mcp-protocol-version"
        )
    for text in headers.values():
        with suppress(ValueError):
            decode_value(text)


# Verdicts on what the other side says of itself.


@given(values | objects, texts, st.integers() | st.sampled_from([-32020, -32021, -32022, -32601]), methods)
def test_any_answer_about_revisions_is_a_verdict(said: Any, message: str, code: int, method: str) -> None:
    for read in (lambda: read_discovery(said), lambda: read_refusal(code, message, said)):
        with suppress(HandshakeFailed):
            assert isinstance(read(), Modern | Again | Older)
    with suppress(HandshakeFailed):
        offers(accept(said), method)
    assert isinstance(is_modern_refusal(code, said), bool)
    assert settle(said) in REVISIONS
    assert next_offer(message, said, ["2025-11-25"]) in (None, *REVISIONS)


@given(
    st.sampled_from(["sampling/createMessage", "elicitation/create", "roots/list"]) | methods,
    objects,
    st.dictionaries(st.sampled_from(["sampling", "elicitation", "roots", "extensions", "tasks"]), values),
    st.sampled_from(REVISIONS),
)
def test_any_wish_is_granted_or_refused_in_words(
    method: str, params: dict[str, Any], declared: dict[str, Any], revision: str
) -> None:
    declared_for(revision, declared)
    found = objection(method, params, declared, revision)
    assert found is None or (found[0] < 0 and found[1])
