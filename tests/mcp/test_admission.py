"""What a server makes of an HTTP request before anybody works on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.admission import (
    LOOPBACK,
    Handshaken,
    Headers,
    Refusal,
    Stateless,
    check_caller,
    check_method,
    check_types,
    read_post,
)
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.protocol import CAPABILITIES_KEY, REVISION_KEY

META = {REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
STATELESS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}


def headers(values: dict[str, str] | None = None) -> Headers:
    return Headers((name.encode(), value.encode()) for name, value in (values or {}).items())


def body(method: str = "tools/list", id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": META, **params}}).encode()


def refused(verdict: object) -> tuple[int, int]:
    assert isinstance(verdict, Refusal)
    return verdict.status, verdict.failure.code


def test_headers_have_one_case_and_remember_what_came_twice() -> None:
    read = Headers([(b"Accept", b" a "), (b"ACCEPT", b"b"), (b"x", b"\xe9")])
    assert read == {"accept": "a, b", "x": "é"}
    assert read.repeated == {"accept"}


# Who asks.


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]", "LOCALHOST:1"]
)
@pytest.mark.parametrize(
    "origin", [None, "http://localhost:3000", "http://127.0.0.1", "http://[::1]:5", "https://app.example"]
)
def test_this_machine_is_answered(host: str, origin: str | None) -> None:
    said = {"host": host} | ({"origin": origin} if origin else {})
    assert check_caller(said, LOOPBACK, ("https://app.example",)) is None


@pytest.mark.parametrize(
    "said",
    [
        {"host": "attacker.com"},
        {"host": "localhost.attacker.com:8000"},
        {"host": "attacker.com:localhost"},
        {"host": ""},
        {},
        {"host": "localhost", "origin": "https://evil.example"},
        {"host": "localhost", "origin": "null"},
        {"host": "localhost", "origin": ""},
        {"host": "localhost", "origin": "http://localhost.evil.example"},
        {"host": "localhost", "origin": "http://evil.example:80/localhost"},
    ],
)
def test_a_page_that_found_us_is_not(said: dict[str, str]) -> None:
    verdict = check_caller(said, LOOPBACK, ())
    assert verdict
    assert verdict.status == 403


def test_a_server_for_everyone_answers_everyone() -> None:
    assert check_caller({"host": "x.example"}, ("*",), ()) is None
    assert check_caller({"host": "x.example:81", "origin": "http://X.example:81"}, ("*",), ()) is None
    assert check_caller({"host": "x.example", "origin": "https://y.example"}, ("*",), ("*",)) is None
    assert check_caller({"host": "x.example", "origin": "https://y.example"}, ("*",), ("https://y.example",)) is None


@pytest.mark.parametrize("origin", ["https://y.example", "http://x.example", "http://x.example:82", "null", ""])
def test_where_every_host_is_answered_a_page_from_elsewhere_is_not(origin: str) -> None:
    verdict = check_caller({"host": "x.example:81", "origin": origin}, ("*",), ("https://z.example",))
    assert refused(verdict) == (403, -32600)


@pytest.mark.parametrize("revision", [5, None, ["2026-07-28"]])
def test_a_revision_that_is_no_text_is_an_invalid_param(revision: Any) -> None:
    meta = {REVISION_KEY: revision, CAPABILITIES_KEY: {}}
    sent = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).encode()
    verdict = read_post(headers(STATELESS), sent)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.failure) == (400, Failure(1, -32602, f"{REVISION_KEY} must be a string."))


def test_the_id_of_a_refused_body_is_named_in_a_sentence() -> None:
    verdict = read_post(headers(STATELESS), b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}')
    assert isinstance(verdict, Refusal)
    sentence = "The body is no message: its id must be a Unicode string or an integer."
    assert (verdict.status, verdict.failure) == (400, Failure(None, -32600, sentence))


# For what.


@pytest.mark.parametrize(
    ("method", "said", "allow"),
    [
        ("POST", {}, None),
        ("GET", {}, None),
        ("DELETE", {"mcp-protocol-version": "2025-11-25"}, None),
        ("PUT", {}, "GET, POST, DELETE"),
        ("OPTIONS", {}, "GET, POST, DELETE"),
        ("POST", STATELESS, None),
        ("GET", STATELESS, "POST"),
        ("DELETE", {"mcp-protocol-version": "v999"}, "POST"),
    ],
)
def test_a_method_is_for_its_era(method: str, said: dict[str, str], allow: str | None) -> None:
    verdict = check_method(method, said)
    assert (verdict.status, verdict.allow) == (405, allow) if verdict else allow is None


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("POST", {}),
        ("POST", {"accept": "application/json, text/event-stream", "content-type": "application/json"}),
        ("POST", {"accept": "*/*", "content-type": "application/json; charset=utf-8"}),
        ("POST", {"accept": "application/json;q=0.9, text/event-stream", "content-type": "Application/JSON"}),
        ("POST", {"accept": "Application/*, text/*"}),
        ("GET", {"accept": "text/event-stream"}),
        ("DELETE", {"accept": "text/html", "content-type": "text/plain"}),
    ],
)
def test_types_that_fit_are_let_in(method: str, said: dict[str, str]) -> None:
    assert check_types(method, said) is None


@pytest.mark.parametrize(
    ("method", "said", "status"),
    [
        ("POST", {"accept": "application/json"}, 406),
        ("POST", {"accept": "text/event-stream"}, 406),
        ("POST", {"accept": "text/html"}, 406),
        ("GET", {"accept": "application/json"}, 406),
        ("POST", {"content-type": "text/plain"}, 415),
        ("POST", {"content-type": "application/jsonp"}, 415),
        ("POST", {"accept": "text/html", "content-type": "text/plain"}, 406),
    ],
)
def test_types_that_do_not_are_refused(method: str, said: dict[str, str], status: int) -> None:
    verdict = check_types(method, said)
    assert verdict
    assert verdict.status == status


# The handshake era.

HANDSHAKE = {"mcp-protocol-version": "2025-11-25", "mcp-session-id": "s1"}


@pytest.mark.parametrize("said", [{}, HANDSHAKE, {"mcp-session-id": "s1"}])
def test_a_message_without_an_envelope_belongs_to_a_session(said: dict[str, str]) -> None:
    assert read_post(headers(said), b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == Handshaken((Request(1, "ping"),))
    assert read_post(headers(said), b'{"jsonrpc":"2.0","id":1,"result":{}}') == Handshaken((Result(1, {}),))


def test_a_batch_is_for_its_session_to_judge() -> None:
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]'
    assert read_post(headers(HANDSHAKE), batch) == Handshaken((Request(1, "ping"), Notification("x")), batch=True)


def test_an_envelope_inside_a_session_changes_nothing() -> None:
    assert isinstance(read_post(headers(HANDSHAKE), body()), Handshaken)


@pytest.mark.parametrize(
    ("text", "code", "id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[]", -32600, None),
        (b"[1]", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"params":1}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, None),
        (b"[" * 100_000, -32700, None),
    ],
)
@pytest.mark.parametrize("said", [HANDSHAKE, STATELESS])
def test_a_body_that_is_no_message_is_refused(said: dict[str, str], text: bytes, code: int, id: object) -> None:
    verdict = read_post(headers(said), text)
    assert refused(verdict) == (400, code)
    assert isinstance(verdict, Refusal)
    assert verdict.failure.id == id


# The stateless era.


def test_a_request_that_says_what_it_is_stands_for_itself() -> None:
    assert read_post(headers(STATELESS), body()) == Stateless(Request(1, "tools/list", {"_meta": META}))


@pytest.mark.parametrize("name", ["add", "=?base64?YWRk?=", " add "])
def test_the_name_may_be_encoded(name: str) -> None:
    said = {**STATELESS, "mcp-method": "tools/call", "mcp-name": name}
    assert isinstance(read_post(headers(said), body("tools/call", name="add")), Stateless)


def test_a_notification_is_taken_if_its_revision_is_known() -> None:
    told = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    assert isinstance(read_post(headers(STATELESS), told), Stateless)
    assert refused(read_post(headers({"mcp-protocol-version": "v999"}), told)) == (400, -32022)


@pytest.mark.parametrize(
    "text", [b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}']
)
def test_there_is_nothing_to_answer(text: bytes) -> None:
    assert refused(read_post(headers(STATELESS), text)) == (400, -32600)


def test_there_are_no_batches() -> None:
    assert refused(read_post(headers(STATELESS), b"[" + body() + b"]")) == (400, -32600)


@pytest.mark.parametrize(
    ("said", "sent", "code"),
    [
        (STATELESS, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32602),
        (STATELESS, b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":7}}', -32602),
        ({"mcp-method": "tools/list"}, body(), -32020),
        ({"mcp-protocol-version": "2026-07-28"}, body(), -32020),
        ({**STATELESS, "mcp-protocol-version": "2025-11-25"}, body(), -32020),
        ({**STATELESS, "mcp-protocol-version": "v999"}, body(), -32020),
        ({**STATELESS, "mcp-method": "Tools/list"}, body(), -32020),
        ({**STATELESS, "mcp-method": "tools/call"}, body("tools/call", name="add"), -32020),
        ({**STATELESS, "mcp-method": "tools/call", "mcp-name": "Add"}, body("tools/call", name="add"), -32020),
        (
            {**STATELESS, "mcp-method": "tools/call", "mcp-name": "=?base64?YWR?="},
            body("tools/call", name="add"),
            -32020,
        ),
        ({**STATELESS, "mcp-method": "resources/read"}, body("resources/read", uri="x://y"), -32020),
    ],
)
def test_a_request_whose_headers_and_body_disagree_is_refused(said: dict[str, str], sent: bytes, code: int) -> None:
    verdict = read_post(headers(said), sent)
    assert refused(verdict) == (400, code)
    assert isinstance(verdict, Refusal)
    assert verdict.failure.id == 1


def test_both_keys_of_the_envelope_are_missed_by_name() -> None:
    sent = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}'
    verdict = read_post(headers(STATELESS), sent)
    assert isinstance(verdict, Refusal)
    assert verdict.failure.message == f"params._meta lacks {REVISION_KEY} and {CAPABILITIES_KEY}."


def test_a_routing_header_stands_there_once() -> None:
    twice = Headers([(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-method", b"tools/list"), (b"Mcp-Method", b"x")])
    assert refused(read_post(twice, body())) == (400, -32020)


def test_an_unknown_revision_is_told_the_known_ones() -> None:
    sent = body().replace(b"2026-07-28", b"v999")
    assert read_post(headers({**STATELESS, "mcp-protocol-version": "v999"}), sent) == Refusal(
        400,
        Failure(
            1,
            -32022,
            "This server does not speak that revision of the protocol.",
            {"supported": ["2026-07-28"], "requested": "v999"},
        ),
    )


@given(
    st.dictionaries(st.sampled_from([*STATELESS, "mcp-name", "mcp-session-id"]), st.text()),
    st.binary() | st.just(body()),
)
def test_no_request_whatever_is_without_a_verdict(said: dict[str, str], sent: bytes) -> None:
    assert isinstance(read_post(headers(said), sent), Refusal | Stateless | Handshaken)
