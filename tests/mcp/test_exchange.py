"""What a request over HTTP should say, and what its answer means."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.envelope import Closed, Envelope, Garbled
from agent.mcp.exchange import (
    Accepted,
    Head,
    Json,
    Moved,
    Refused,
    Rejected,
    SessionHeaders,
    SessionLost,
    Sse,
    Unauthorized,
    Unnamed,
    answers,
    attributed,
    excerpt,
    get_headers,
    masked,
    origin,
    post_headers,
    read_document,
    read_head,
    read_rejection,
    sniff,
)
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, Result, encode
from agent.mcp.protocol import REVISION_KEY

URL = "https://example.com/mcp"
BOTH = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
SESSION = SessionHeaders("s1", "2025-11-25")
STATELESS = {"name": "add", "_meta": {REVISION_KEY: "2026-07-28"}}


def head(status: int, url: str = URL, **headers: str) -> Head:
    return Head(url, status, {name.replace("_", "-"): value for name, value in headers.items()})


# What to say.


@pytest.mark.parametrize(
    ("message", "session", "more"),
    [
        (Request(1, "initialize", {}), SESSION, {}),
        (Request(1, "tools/list"), SessionHeaders(), {}),
        (Request(1, "tools/list"), SESSION, {"mcp-session-id": "s1", "mcp-protocol-version": "2025-11-25"}),
        (Notification("x"), SessionHeaders(revision="2025-06-18"), {"mcp-protocol-version": "2025-06-18"}),
        (Result(1, {}), SESSION, {"mcp-session-id": "s1", "mcp-protocol-version": "2025-11-25"}),
        (
            Request(1, "tools/call", STATELESS),
            SESSION,
            {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "add",
                "mcp-param-region": "eu",
            },
        ),
    ],
)
def test_a_post_says_what_its_era_wants(message: Message, session: SessionHeaders, more: dict[str, str]) -> None:
    assert post_headers(message, session, {"params": {"Region": "eu"}}) == BOTH | more


def test_a_message_with_nothing_to_mirror_needs_no_context() -> None:
    assert "mcp-name" in post_headers(Request(1, "tools/call", STATELESS), SessionHeaders(), {})


def test_a_get_names_its_session_and_the_place_to_resume() -> None:
    assert get_headers(SessionHeaders()) == {"accept": "text/event-stream"}
    assert get_headers(SESSION, "7") == {
        "accept": "text/event-stream",
        "mcp-session-id": "s1",
        "mcp-protocol-version": "2025-11-25",
        "last-event-id": "7",
    }


@pytest.mark.parametrize(
    ("item", "revision"),
    [
        (Envelope((Result(1, {"protocolVersion": "2025-06-18"}),)), "2025-06-18"),
        (Envelope((Result(1, {"protocolVersion": "2025-03-26"}),)), None),  # which has no header for it
        (Envelope((Result(1, {"protocolVersion": "2024-11-05"}),)), None),
        (Envelope((Result(1, {"protocolVersion": 7}),)), None),
        (Envelope((Result(1, []), Failure(1, -1, "no"))), "2025-11-25"),
        (Garbled(-32700, "", ""), "2025-11-25"),
    ],
)
def test_the_revision_is_learned_from_the_answer_to_initialize(item: Any, revision: str | None) -> None:
    session = SessionHeaders("s1", "2025-11-25")
    session.learn(item)
    assert session == SessionHeaders("s1", revision)


# What an answer means, by its head.


@pytest.mark.parametrize(
    ("status", "kind", "meaning"),
    [
        (200, "application/json", Json()),
        (200, "Application/JSON;charset=UTF-8", Json()),
        (200, 'application/json ; charset="utf-8"', Json()),
        (200, "application/problem+json", Json()),
        (200, "text/event-stream", Sse()),
        (200, "text/event-stream; charset=utf-8", Sse()),
        (200, "TEXT/EVENT-STREAM", Sse()),
        (201, "application/json", Json()),
        (200, "", Unnamed()),
        (200, "text/html", Unnamed()),
        (202, "application/json", Accepted()),
        (204, "", Accepted()),
        (199, "", Rejected()),
        (400, "application/json", Rejected()),
        (404, "text/event-stream", Rejected()),
        (503, "text/html", Rejected()),
    ],
)
def test_status_and_type_say_what_a_body_is(status: int, kind: str, meaning: object) -> None:
    assert read_head(head(status, content_type=kind)) == meaning


@pytest.mark.parametrize(
    ("beginning", "meaning"),
    [
        (b'{"jsonrpc"', Json()),
        (b"<html>", Json()),
        (b"", Json()),
        (b"data: x", Sse()),
        (b"\xef\xbb\xbfevent: message", Sse()),
        (b": hello", Sse()),
        (b"\nid:1", Sse()),
        (b"retry: 5", Sse()),
        (b"datum: x", Json()),
    ],
)
def test_a_body_without_a_type_is_known_by_its_beginning(beginning: bytes, meaning: object) -> None:
    assert sniff(beginning) == meaning


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/mcp/", "https://example.com/mcp/"),
        ("https://example.com/mcp/?a=b", "https://example.com/mcp/?a=b"),
        ("https://EXAMPLE.com:443/v2", "https://EXAMPLE.com:443/v2"),
    ],
)
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirection_on_the_same_server_is_followed(status: int, location: str, url: str) -> None:
    assert read_head(head(status, location=location)) == Moved(url)


@pytest.mark.parametrize(
    ("here", "status", "location", "sentence"),
    [
        (URL, 307, "http://example.com/mcp/", "use the URL https://example.com/mcp/ instead."),
        (URL, 308, "https://evil.example/mcp", "use the URL https://evil.example/mcp instead."),
        (URL, 307, "https://example.com:8443/mcp", "use the URL https://example.com:8443/mcp instead."),
        ("http://example.com/mcp", 308, "https://example.com/mcp", "use the URL https://example.com/mcp instead."),
        (URL, 301, "/mcp/", "use the URL https://example.com/mcp/ instead."),
        (URL, 303, "/login?next=secret", "use the URL https://example.com/login?next=… instead."),
        (URL, 307, "/mcp", "use the URL https://example.com/mcp instead."),
        (URL, 307, "https://example.com:port/", "use the URL https://example.com:port/ instead."),
        (URL, 307, "https://[::1/", "use the URL https://example.com/mcp instead."),
        (URL, 304, "", "use the URL https://example.com/mcp instead."),
        ("http://localhost/mcp", 301, "/mcp/", "use the URL http://localhost/mcp/ instead."),
    ],
)
def test_any_other_redirection_is_refused_with_a_hint(here: str, status: int, location: str, sentence: str) -> None:
    with pytest.raises(Refused, match="elsewhere") as refused:
        read_head(head(status, here, location=location))
    assert str(refused.value).endswith(sentence)
    assert refused.value.status == status


# What its body means.

ANSWER = Result(3, {"x": 1})


@pytest.mark.parametrize(
    ("body", "items"),
    [
        (encode(ANSWER), [Envelope((ANSWER,), about=3)]),
        (b"\n " + encode(ANSWER) + b"\r\n", [Envelope((ANSWER,), about=3)]),
        (b"[" + encode(ANSWER) + b"]", [Envelope((ANSWER,), batch=True, about=3)]),
        (b'{"jsonrpc":"2.0","id":"3","result":{}}', [Envelope((Result("3", {}),), about=3)]),
        (
            b'{"jsonrpc":"2.0","id":3,"error":{"code":-32099,"message":"topic missing"}}',
            [Envelope((Failure(3, -32099, "topic missing"),), about=3)],
        ),
        (
            b'{"jsonrpc":"2.0","error":{"code":-1,"message":"no"},"id":null}',
            [Envelope((Failure(3, -1, "no"),), about=3)],
        ),
    ],
)
def test_a_document_answers_its_request(body: bytes, items: list[object]) -> None:
    assert read_document(head(200), body, 3) == items


def test_a_document_that_only_tells_leaves_the_request_without_an_answer() -> None:
    told, closed = read_document(head(200, content_type="application/json"), encode(Notification("x")), 3)
    assert told == Envelope((Notification("x"),), about=3)
    assert isinstance(closed, Closed)
    assert closed.about == 3


@pytest.mark.parametrize(
    ("kind", "body", "sentence"),
    [
        (
            "text/html",
            b"<html><style>p{}</style><p>Please <b>log in</b>\x1b[31m!</html>",
            "expected JSON or SSE, got text/html (200): Please log in !.",
        ),
        ("", b"", "expected JSON or SSE, got nothing (200)."),
        ("", b"Hello.", "expected JSON or SSE, got something without a content type (200): Hello."),
        ("application/json", b"{}", "expected JSON or SSE, got application/json (200): {}."),
    ],
)
def test_a_document_that_is_no_message_is_described(kind: str, body: bytes, sentence: str) -> None:
    (closed,) = read_document(head(200, content_type=kind), body, 3)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, Refused)
    assert str(closed.error) == f"The server at {URL}: {sentence}"
    assert closed.error.status == 200


def test_an_item_gets_the_request_on_whose_stream_it_came() -> None:
    told = Envelope((Notification("x"),))
    assert attributed(told, None) == told
    assert attributed(told, 3) == Envelope((Notification("x"),), about=3)
    dropped, named = Garbled(-32600, "long", "", lost=True), Garbled(-32600, "long", "", 4, "answer", lost=True)
    assert attributed(dropped, 3) == Garbled(-32600, "long", "", 3, "answer", lost=True)
    assert attributed(named, 3) == named


def test_an_answer_ends_the_wait_for_it_alone() -> None:
    assert answers(Envelope((Notification("x"), Result("3", 0))), 3)
    assert not answers(Envelope((Result(4, 0), Request(3, "ping"))), 3)
    assert answers(Garbled(-32600, "", "", 3, "answer"), 3)
    assert not answers(Garbled(-32600, "", "", 3, "request"), 3)


# Errors.

NOT_FOUND = encode(Failure(None, -32001, "Session not found"))


def test_an_error_with_a_message_is_that_message() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}'
    failure = Failure(None, -32022, "no", {"supported": ["2026-07-28"]})
    assert read_rejection(head(400), body, in_session=False) == failure


@pytest.mark.parametrize(
    ("status", "body", "in_session", "kind", "sentence"),
    [
        (404, NOT_FOUND, True, SessionLost, f"The server at {URL} has forgotten this session (404)."),
        (404, b"", True, SessionLost, f"The server at {URL} has forgotten this session (404)."),
        (
            400,
            encode(Failure(None, -32000, "Bad Request: No valid session ID provided")),
            True,
            SessionLost,
            f"The server at {URL} has forgotten this session (400).",
        ),
        (404, b"Cannot POST /", False, Refused, f"The server at {URL} has no MCP endpoint there (404); check the URL."),
        (401, b"", True, Unauthorized, f"The server at {URL} wants to know who you are (401)."),
        (
            401,
            encode(Failure(None, -32000, "token expired.")),
            False,
            Unauthorized,
            f"The server at {URL} wants to know who you are (401): token expired.",
        ),
        (403, b"Invalid Origin", True, Refused, f"The server at {URL} refuses access (403): Invalid Origin."),
        (403, encode(Failure(3, -1, "scope")), False, Refused, f"The server at {URL} refuses access (403): scope."),
        (
            502,
            b"Bad gateway",
            True,
            Refused,
            f"The server at {URL}: expected JSON or SSE, got text/plain (502): Bad gateway.",
        ),
        (400, b"", True, Refused, f"The server at {URL}: expected JSON or SSE, got text/plain (400)."),
    ],
)
def test_an_error_without_one_is_a_sentence(
    status: int, body: bytes, in_session: bool, kind: type, sentence: str
) -> None:
    reason = read_rejection(head(status, content_type="text/plain"), body, in_session=in_session)
    assert type(reason) is kind
    assert isinstance(reason, Refused)
    assert (str(reason), reason.status) == (sentence, status)


@pytest.mark.parametrize(
    ("status", "failure", "in_session"),
    [
        (404, Failure(3, -32601, "Method not found"), True),
        (404, Failure(None, -32001, "Session not found"), False),
        (400, Failure(3, -32602, "bad arguments"), True),
        (500, Failure(3, -32603, "session store down"), True),
    ],
)
def test_not_every_error_is_the_end_of_a_session(status: int, failure: Failure, in_session: bool) -> None:
    assert read_rejection(head(status), encode(failure), in_session=in_session) == failure


def test_a_challenge_is_kept_for_who_can_meet_it() -> None:
    reason = read_rejection(head(401, www_authenticate='Bearer scope="x"'), b"", in_session=False)
    assert isinstance(reason, Unauthorized)
    assert reason.challenge == 'Bearer scope="x"'


@given(st.integers(100, 599), st.binary(max_size=100), st.booleans())
def test_whatever_comes_back_means_something(status: int, body: bytes, in_session: bool) -> None:
    answer = head(status, content_type="text/plain", location="/x")
    with suppress(Refused):
        read_head(answer)
    assert isinstance(read_rejection(answer, body, in_session=in_session), Failure | Refused)
    assert read_document(answer, body, 3)


# For people.


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://ana:pw@example.com:8443/mcp/?key=abc&x=#top", "https://example.com:8443/mcp/?key=…&x=…"),
        ("https://example.com/s/0123456789abcdef0123/mcp", "https://example.com/s/…/mcp"),
        ("https://[::1/mcp", "…"),
        ("https://example.com/a-long-name-with-no-digits/mcp", "https://example.com/a-long-name-with-no-digits/mcp"),
    ],
)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/mcp", "https://example.com"),
        ("https://ana@Example.com:443", "https://example.com"),
        ("http://[::1]:8080/mcp", "http://[::1]:8080"),
        ("http://[::1]/mcp", "http://[::1]"),
        ("http://localhost:80/", "http://localhost"),
        ("https://[::1/mcp", "https://[::1/mcp"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, host: str) -> None:
    assert origin(url) == host


def test_an_excerpt_is_short_and_cannot_move_the_cursor() -> None:
    assert excerpt("<script>alert(1)</script>a\x1b[2Jb\x07\r\nc <br/>") == "a b c"
    assert excerpt("word " * 1_000) == "word " * 31 + "word…"
