"""The client's end of Streamable HTTP, against servers that answer in every way."""

from __future__ import annotations

import gzip
from collections.abc import AsyncGenerator, AsyncIterator

import anyio
import httpx2
import pytest

from agent.mcp.envelope import Channel, Closed, ConnectionLost, Envelope, Garbled
from agent.mcp.exchange import Refused, SessionLost, Unauthorized, Unreachable
from agent.mcp.jsonrpc import Failure, Notification, Request, Result, encode
from agent.mcp.protocol import REVISION_KEY
from agent.mcp.transports import http_client, http_exchange, http_streams
from agent.mcp.transports.http_client import http
from tests.mcp.scripted_http import ACCEPTED, URL, Reply, Seen, event, events, result, talking_to

pytestmark = pytest.mark.anyio

STATELESS = {"_meta": {REVISION_KEY: "2026-07-28"}}
INITIALIZE = Request(1, "initialize", {"protocolVersion": "2025-11-25"})
LIST = Request(1, "tools/list")
INITIALIZED = Notification("notifications/initialized")
NO_STREAM = Reply(405, None)


async def ask(channel: Channel, request: Request, count: int = 1) -> list[object]:
    """What the next items are after a request."""
    with anyio.fail_after(5):
        await channel.send(Envelope((request,)))
        return [await channel.receive() for _ in range(count)]


async def failure_of(channel: Channel, request: Request = LIST) -> Exception:
    (closed,) = await ask(channel, request)
    assert isinstance(closed, Closed)
    assert closed.about == request.id
    assert closed.error
    return closed.error


async def begin(channel: Channel) -> None:
    await ask(channel, INITIALIZE)
    with anyio.fail_after(5):
        await channel.send(Envelope((INITIALIZED,)))


def server(seen: Seen) -> Reply:
    """A server of the handshake era that answers everything, each in a session."""
    match seen.method, seen.body and seen.message:
        case "POST", Request(id, "initialize"):
            return Reply(body=result(id, protocolVersion="2025-11-25"), headers={"mcp-session-id": "s1"})
        case "POST", Request(id):
            return Reply(body=result(id))
        case "POST", _:
            return ACCEPTED
    return NO_STREAM


# One answer.


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON;charset=UTF-8", "text/plain", None])
async def test_a_document_is_an_answer_whatever_its_type(kind: str | None) -> None:
    async with talking_to(lambda seen: Reply(200, kind, result(x=1))) as (channel, _):
        assert await ask(channel, Request(1, "ping")) == [Envelope((Result(1, {"x": 1}),), about=1)]


@pytest.mark.parametrize("kind", ["text/event-stream", "Text/Event-Stream; charset=utf-8", None])
async def test_a_stream_brings_what_belongs_to_the_request_and_then_its_answer(kind: str | None) -> None:
    note = Notification("notifications/progress", {"progressToken": 1, "progress": 1})
    reply = events(event(encode(note)), event(result(x=1)))
    reply.type = kind
    async with talking_to(lambda seen: reply) as (channel, _):
        assert await ask(channel, Request(1, "x"), 2) == [
            Envelope((note,), about=1),
            Envelope((Result(1, {"x": 1}),), about=1),
        ]


async def test_a_stream_cut_anywhere_brings_the_same() -> None:
    body = b'data: {"jsonrpc":"2.0",\r\ndata:  "id":2,"result":{"text":"\xe6\xbc\xa2"}}\r\n\r\n'
    reply = events(*(bytes([byte]) for byte in body))
    async with talking_to(lambda seen: reply) as (channel, _):
        assert await ask(channel, Request(2, "x")) == [Envelope((Result(2, {"text": "漢"}),), about=2)]


async def test_signs_of_life_are_no_messages() -> None:
    noise = (
        b": keepalive\n\n",
        b"event: ping\ndata: 2026-01-01\n\n",
        b'data: {"type":"heartbeat"}\n\n',
        b"data: ping\n\n",
    )
    async with talking_to(lambda seen: events(*noise, event(result()))) as (channel, _):
        assert await ask(channel, Request(1, "x")) == [Envelope((Result(1, {}),), about=1)]


async def test_a_request_is_one_post_of_one_message() -> None:
    async with talking_to(server, "http://127.0.0.1:8000/mcp/?key=a%2Fb", headers={"Authorization": "Bearer t"}) as (
        channel,
        scripted,
    ):
        await ask(channel, Request(1, "ping"))
    (seen,) = scripted.seen
    assert (seen.method, seen.path, seen.message) == ("POST", "/mcp/?key=a%2Fb", Request(1, "ping"))
    assert seen.headers["authorization"] == "Bearer t"
    assert seen.headers["accept"] == "application/json, text/event-stream"
    assert seen.headers["content-type"] == "application/json"


async def test_an_error_status_with_a_message_is_the_answer() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}'
    async with talking_to(lambda seen: Reply(400, body=body)) as (channel, _):
        assert await ask(channel, Request(7, "server/discover")) == [
            Envelope((Failure(7, -32000, "Server not initialized"),), about=7)
        ]


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        (Reply(200, "text/html", b"<html>Login</html>"), Refused, "expected JSON or SSE, got text/html (200): Login."),
        (Reply(200, None), Refused, "expected JSON or SSE, got nothing (200)."),
        (Reply(204, None), Refused, "expected JSON or SSE, got nothing (204)."),
        (ACCEPTED, Refused, "expected JSON or SSE, got nothing (202)."),
        (Reply(502, "text/plain", b"Bad gateway"), Refused, "expected JSON or SSE, got text/plain (502): Bad gateway."),
        (Reply(401, "text/plain", b""), Unauthorized, "wants to know who you are (401)."),
        (
            Reply(307, None, headers={"location": "https://evil.example/"}),
            Refused,
            "use the URL https://evil.example/ instead.",
        ),
        (events(), ConnectionLost, "closed the stream before it answered."),
        (events(b"data: half"), ConnectionLost, "closed the stream before it answered."),
        (events(event(encode(Notification("x")))[:-1]), ConnectionLost, "closed the stream before it answered."),
    ],
)
async def test_an_answer_that_is_none_ends_the_wait_with_a_sentence(reply: Reply, kind: type, sentence: str) -> None:
    async with talking_to(lambda seen: reply) as (channel, _):
        error = await failure_of(channel)
    assert type(error) is kind
    assert str(error).startswith(f"The server at {URL}")
    assert str(error).endswith(sentence)


async def test_what_is_too_long_is_lost_but_its_request_is_known() -> None:
    long = Garbled(-32600, "it is longer than 100 bytes", "", 1, "answer", lost=True)
    async with talking_to(lambda seen: Reply(body=b"x" * 101), limit=100) as (channel, _):
        assert await ask(channel, Request(1, "x")) == [long]
    async with talking_to(lambda seen: events(event(b"x" * 200)), limit=100) as (channel, _):
        (item,) = await ask(channel, Request(1, "x"))
    assert isinstance(item, Garbled)
    assert (item.id, item.kind, item.lost) == (1, "answer", True)


# Redirections.


async def test_a_redirection_on_the_same_server_is_followed_and_remembered() -> None:
    def serve(seen: Seen) -> Reply:
        return Reply(307, None, headers={"location": "/mcp/"}) if seen.path == "/mcp" else Reply(body=result())

    async with talking_to(serve, headers={"authorization": "t"}) as (channel, scripted):
        await ask(channel, Request(1, "a"))
        await ask(channel, Request(1, "b"))
    assert [(seen.path, seen.headers["authorization"]) for seen in scripted.seen] == [
        ("/mcp", "t"),
        ("/mcp/", "t"),
        ("/mcp/", "t"),
    ]
    assert scripted.seen[1].message == Request(1, "a")


async def test_redirections_in_a_circle_come_to_an_end() -> None:
    def serve(seen: Seen) -> Reply:
        return Reply(308, None, headers={"location": "/a" if seen.path == "/b" else "/b"})

    async with talking_to(serve) as (channel, _):
        assert str(await failure_of(channel)).endswith("sends us from one address to the next without an end.")


# The handshake era.


async def test_what_the_handshake_left_goes_with_every_later_message() -> None:
    async with talking_to(server) as (channel, scripted):
        await begin(channel)
        await ask(channel, Request(2, "tools/list"))
        await channel.send(Envelope((Result(9, {}),)))
    first, *later = scripted.seen
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert {seen.method for seen in later} == {"POST", "GET", "DELETE"}
    for seen in later:
        assert seen.headers["mcp-session-id"] == "s1"
        assert seen.headers["mcp-protocol-version"] == "2025-11-25"
    assert scripted.seen[-1].method == "DELETE"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, "text/plain"),
        Reply(405, None),
        Reply(406, None),
        Reply(400, None),
        Reply(401, "text/plain", b"who?"),
        Reply(501, None),
        Reply(200, "application/json", b"{}"),
    ],
)
async def test_a_server_needs_no_stream_of_its_own(reply: Reply) -> None:
    def serve(seen: Seen) -> Reply:
        return reply if seen.method == "GET" else server(seen)

    async with talking_to(serve) as (channel, scripted):
        await begin(channel)
        for id in range(2, 5):
            await ask(channel, Request(id, "ping"))
        assert len(scripted.asked("GET")) == 1


async def test_what_belongs_to_no_request_comes_on_a_stream_of_its_own() -> None:
    def serve(seen: Seen) -> Reply:
        return events(event(encode(Request("s1", "roots/list")))) if seen.method == "GET" else server(seen)

    async with talking_to(serve) as (channel, _):
        await begin(channel)
        with anyio.fail_after(5):
            assert await channel.receive() == Envelope((Request("s1", "roots/list"),))


async def test_a_lost_stream_is_taken_up_after_the_last_event_and_repeats_nothing() -> None:
    changed, more = Notification("changed"), Notification("more")
    streams = [
        events(event(encode(changed), id="7", retry=0)),
        events(event(encode(changed), id="7"), event(encode(more), id="8")),
        NO_STREAM,
    ]

    def serve(seen: Seen) -> Reply:
        return streams.pop(0) if seen.method == "GET" else server(seen)

    async with talking_to(serve) as (channel, scripted):
        await begin(channel)
        with anyio.fail_after(5):
            assert await channel.receive() == Envelope((changed,))
            assert await channel.receive() == Envelope((more,))
    first, second, *_ = scripted.asked("GET")
    assert "last-event-id" not in first.headers
    assert second.headers["last-event-id"] == "7"
    assert second.headers["mcp-session-id"] == "s1"
    assert second.headers["mcp-protocol-version"] == "2025-11-25"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_stream_that_is_not_available_for_a_while_is_asked_for_again(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_streams, "RETRY_SECONDS", 0.01)
    changed = Notification("changed")
    streams = [Reply(status, None), Reply(status, None), events(event(encode(changed)))]

    def serve(seen: Seen) -> Reply:
        return (streams.pop(0) if streams else NO_STREAM) if seen.method == "GET" else server(seen)

    async with talking_to(serve) as (channel, _):
        await begin(channel)
        with anyio.fail_after(5):
            assert await channel.receive() == Envelope((changed,))


async def test_a_server_that_says_when_it_is_back_is_not_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_streams, "RETRY_SECONDS", 0.01)
    times: list[float] = []

    def serve(seen: Seen) -> Reply:
        times.append(anyio.current_time())
        if seen.method == "POST":
            return events(event(b"", id="1", retry=0))
        return Reply(503, None, headers={"retry-after": "1"}) if len(times) == 2 else events(event(result(), id="2"))

    async with talking_to(serve) as (channel, _):
        assert await ask(channel, Request(1, "x")) == [Envelope((Result(1, {}),), about=1)]
    assert times[2] - times[1] >= 1


async def test_a_stream_that_stays_unavailable_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_streams, "RETRY_SECONDS", 0.001)

    def serve(seen: Seen) -> Reply:
        return events(event(b"", id="1", retry=0)) if seen.method == "POST" else Reply(503, None)

    async with talking_to(serve) as (channel, scripted):
        assert str(await failure_of(channel)) == f"The server at {URL} cannot continue the stream (503)."
    assert len(scripted.asked("GET")) == http_exchange.ATTEMPTS


async def test_an_answer_whose_stream_broke_off_is_fetched_when_the_server_wants() -> None:
    times: list[float] = []

    def serve(seen: Seen) -> Reply:
        times.append(anyio.current_time())
        if seen.method == "POST":
            return events(event(b"", id="1", retry=300))
        return events(b": nothing yet\n\n") if len(times) == 2 else events(event(result(), id="2"))

    async with talking_to(serve) as (channel, scripted):
        assert await ask(channel, Request(1, "x")) == [Envelope((Result(1, {}),), about=1)]
    assert [seen.headers.get("last-event-id") for seen in scripted.seen] == [None, "1", "1"]
    first, second, third = times
    assert 0.3 <= second - first < 0.45
    assert 0.3 <= third - second < 0.45


async def test_a_stream_that_cannot_be_taken_up_ends_the_wait() -> None:
    def serve(seen: Seen) -> Reply:
        return events(event(b"", id="1", retry=0)) if seen.method == "POST" else NO_STREAM

    async with talking_to(serve) as (channel, _):
        error = await failure_of(channel)
    assert isinstance(error, Refused)
    assert error.status == 405


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}'),
        (404, b"Not found"),
        (400, b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session"},"id":null}'),
    ],
)
async def test_a_session_the_server_forgot_is_lost_and_a_new_one_begins_without_it(status: int, body: bytes) -> None:
    def serve(seen: Seen) -> Reply:
        lost = seen.headers.get("mcp-session-id") == "s1" and seen.method == "POST" and b"tools" in seen.body
        return Reply(status, body=body) if lost else server(seen)

    async with talking_to(serve) as (channel, scripted):
        await begin(channel)
        assert isinstance(await failure_of(channel, Request(2, "tools/list")), SessionLost)
        await ask(channel, INITIALIZE)
    again = [seen for seen in scripted.asked("POST") if b'"initialize"' in seen.body]
    assert ["mcp-session-id" in seen.headers for seen in again] == [False, False]


async def test_a_withdrawn_request_is_told_and_its_stream_closed() -> None:
    gone = anyio.Event()

    async def silence() -> AsyncIterator[bytes]:
        yield b": working\n\n"
        await gone.wait()

    def serve(seen: Seen) -> Reply:
        return Reply(200, "text/event-stream", silence) if b'"slow"' in seen.body else server(seen)

    async with talking_to(serve) as (channel, scripted):
        await channel.send(Envelope((Request(2, "slow"),)))
        await anyio.wait_all_tasks_blocked()
        await channel.send(Envelope((Notification("notifications/cancelled", {"requestId": 2}),)))
        assert await ask(channel, Request(3, "ping")) == [Envelope((Result(3, {}),), about=3)]
    assert [seen.message for seen in scripted.seen[1:2]] == [Notification("notifications/cancelled", {"requestId": 2})]


async def test_what_needs_no_answer_may_go_wrong_in_silence() -> None:
    def serve(seen: Seen) -> Reply:
        if isinstance(seen.message, Request):
            return server(seen)
        return events(b": no\n\n") if b"odd" in seen.body else Reply(400, "text/plain", b"no")

    async with talking_to(serve) as (channel, _):
        with anyio.fail_after(5):
            for method in ("plain", "odd", "notifications/cancelled"):
                await channel.send(Envelope((Notification(method, {"requestId": 99}),)))
        await ask(channel, LIST)


async def test_an_answer_may_be_compressed() -> None:
    packed = Reply(body=gzip.compress(result(x=1)), headers={"content-encoding": "gzip"})
    async with talking_to(lambda seen: packed) as (channel, scripted):
        assert await ask(channel, LIST) == [Envelope((Result(1, {"x": 1}),), about=1)]
    assert scripted.seen[0].headers["accept-encoding"] == "gzip, deflate"


async def test_whoever_signs_requests_sees_the_answers_and_may_try_again() -> None:
    class Login(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            response = yield request
            if response.status_code == 401:
                request.headers["authorization"] = "Bearer new"
                yield request

    def serve(seen: Seen) -> Reply:
        return server(seen) if seen.headers.get("authorization") == "Bearer new" else Reply(401, "text/plain", b"who?")

    async with talking_to(serve, auth=Login()) as (channel, scripted):
        assert await ask(channel, LIST) == [Envelope((Result(1, {}),), about=1)]
    assert [seen.message for seen in scripted.seen] == [LIST, LIST]


class BrokenLogin(httpx2.Auth):
    """Fails as often as it is told to."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = [*errors]

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if self._errors:
            raise self._errors.pop(0)
        yield request


async def test_whoever_fails_to_sign_a_request_ends_it_alone() -> None:
    declined = Unauthorized("You said no.", "")
    async with talking_to(server, auth=BrokenLogin(KeyError("token"), declined)) as (channel, _):
        error = await failure_of(channel)
        assert (type(error), str(error)) == (
            Unreachable,
            f"The server at {URL} cannot be asked (KeyError: 'token').",
        )
        assert await failure_of(channel) is declined
        assert await ask(channel, LIST) == [Envelope((Result(1, {}),), about=1)]


async def test_what_needs_no_answer_may_fail_to_be_signed() -> None:
    async with talking_to(server, auth=BrokenLogin(KeyError("token"))) as (channel, _):
        await channel.send(Envelope((INITIALIZED,)))
        assert await ask(channel, LIST) == [Envelope((Result(1, {}),), about=1)]


async def test_a_header_that_is_no_text_ends_its_request_alone() -> None:
    async with talking_to(server, headers={"x": 5}) as (channel, _):  # type: ignore[dict-item]
        assert str(await failure_of(channel)).startswith(f"The server at {URL} cannot be asked (TypeError: ")


async def test_what_json_cannot_hold_is_not_sent_and_the_next_request_is() -> None:
    async with talking_to(server) as (channel, scripted):
        for message in (Request(1, "x", {"a": object()}), Notification("x", {"a": object()})):
            with pytest.raises(TypeError):
                await channel.send(Envelope((message,)))
        assert await ask(channel, LIST) == [Envelope((Result(1, {}),), about=1)]
    assert len(scripted.seen) == 1


async def test_a_fault_in_one_exchange_ends_no_other() -> None:
    class Faulty(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            raise RuntimeError("a bug")
            yield b""

    class Network(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "application/json"}
            if b"tools/list" in await request.aread():
                return httpx2.Response(200, headers=headers, stream=Faulty())
            return httpx2.Response(200, headers=headers, content=result())

    async with http(URL, transport=Network()) as channel:
        assert str(await failure_of(channel)) == "a bug"
        assert await ask(channel, Request(1, "ping")) == [Envelope((Result(1, {}),), about=1)]


async def test_a_cookie_is_given_back() -> None:
    cookie = {"set-cookie": "machine=7; Path=/"}
    async with talking_to(lambda seen: Reply(body=result(), headers=cookie)) as (channel, scripted):
        await ask(channel, LIST)
        await ask(channel, LIST)
    assert [seen.headers.get("cookie") for seen in scripted.seen] == [None, "machine=7"]


# The stateless era.


async def test_a_stateless_request_carries_its_routing_headers_and_no_session() -> None:
    request = Request(2, "tools/call", {"name": "add", **STATELESS})
    async with talking_to(server) as (channel, scripted):
        await begin(channel)
        with anyio.fail_after(5):
            await channel.send(Envelope((request,), context={"params": {"Region": "ü"}}))
            await channel.receive()
    seen = next(seen for seen in scripted.seen if b"tools/call" in seen.body)
    assert {name: seen.headers[name] for name in seen.headers if name.startswith("mcp-")} == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
        "mcp-param-region": "=?base64?w7w=?=",
    }


async def test_withdrawing_a_stateless_request_is_closing_its_stream() -> None:
    async def silence() -> AsyncIterator[bytes]:
        yield b": working\n\n"
        await anyio.sleep_forever()

    async with talking_to(lambda seen: Reply(200, "text/event-stream", silence)) as (channel, scripted):
        await channel.send(Envelope((Request(2, "tools/call", {"name": "x", **STATELESS}),)))
        await anyio.wait_all_tasks_blocked()
        await channel.send(Envelope((Notification("notifications/cancelled", {"requestId": 2}),)))
        await anyio.wait_all_tasks_blocked()
    assert len(scripted.seen) == 1


async def test_a_lost_stateless_stream_is_a_lost_request() -> None:
    async with talking_to(lambda seen: events(event(b"", id="1", retry=0))) as (channel, scripted):
        error = await failure_of(channel, Request(2, "tools/list", STATELESS))
    assert str(error) == f"The server at {URL} closed the stream before it answered."
    assert len(scripted.seen) == 1


async def test_many_requests_wait_side_by_side() -> None:
    async with talking_to(server) as (channel, _), anyio.create_task_group() as tasks:
        for id in range(100):
            tasks.start_soon(channel.send, Envelope((Request(id, "ping"),)))
        with anyio.fail_after(5):
            answers = [await channel.receive() for _ in range(100)]
    assert {item.about for item in answers} == set(range(100))


# Beginning and end.


@pytest.mark.parametrize("url", ["example.com/mcp", "ftp://example.com/", "http://", "http://[::1", "http://a:b/", ""])
async def test_a_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConnectionLost):
        async with http(url):
            pass


async def test_a_server_that_will_not_end_a_session_does_not_hold_us_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FAREWELL_SECONDS", 0.01)

    async def silence() -> AsyncIterator[bytes]:
        yield b" "
        await anyio.sleep_forever()

    def serve(seen: Seen) -> Reply:
        return Reply(body=silence) if seen.method == "DELETE" else server(seen)

    with anyio.fail_after(5):
        async with talking_to(serve) as (channel, _):
            await begin(channel)


async def test_an_error_whose_text_never_ends_is_an_error_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "REJECTION_SECONDS", 0.01)

    async def silence() -> AsyncIterator[bytes]:
        yield b"Bad"
        await anyio.sleep_forever()

    async with talking_to(lambda seen: Reply(500, "text/plain", silence)) as (channel, _):
        assert str(await failure_of(channel)).endswith("expected JSON or SSE, got text/plain (500).")
