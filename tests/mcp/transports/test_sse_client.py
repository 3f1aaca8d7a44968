"""The client's end of HTTP+SSE, by itself and fallen back to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from agent.mcp.client.client import Client
from agent.mcp.client.deprecations import HTTP_SSE
from agent.mcp.envelope import Channel, Closed, ConnectionLost, Envelope
from agent.mcp.exchange import Refused
from agent.mcp.jsonrpc import Notification, Request, Result
from agent.mcp.transports import sse_client
from agent.mcp.transports.http_client import http
from tests.mcp.bridge import bridge
from tests.mcp.scripted_http import ACCEPTED, URL, Reply, Scripted, Seen, event, result
from tests.mcp.sse_channel import Ends, sse

pytestmark = pytest.mark.anyio

INITIALIZE = Request(1, "initialize", {})


class OldServer:
    """Says where to post, and answers what is posted there on its stream, until `end`."""

    def __init__(self, endpoint: bytes = b"/messages/?session_id=abc", reply: Reply = ACCEPTED) -> None:
        self._endpoint, self._reply = endpoint, reply
        self._posted, self._read = anyio.create_memory_object_stream[bytes](10)

    def __call__(self, seen: Seen) -> Reply:
        if seen.method == "GET":
            return Reply(200, "text/event-stream", self._stream)
        if seen.path == "/mcp":
            return Reply(405, None)
        if isinstance(seen.message, Request) and self._reply is ACCEPTED:
            self._posted.send_nowait(result(seen.message.id, protocolVersion="2024-11-05", posted_to=seen.path))
        return self._reply

    def end(self) -> None:
        self._posted.close()

    async def _stream(self) -> AsyncIterator[bytes]:
        if self._endpoint:
            yield b"event: endpoint\r\ndata: " + self._endpoint + b"\r\n\r\n"
        async with self._posted, self._read:
            async for answer in self._read:
                yield event(answer)


async def ask(channel: Channel | Ends, request: Request) -> object:
    with anyio.fail_after(5):
        await channel.send(Envelope((request,)))
        return await channel.receive()


@pytest.mark.parametrize("endpoint", [b"/messages/?session_id=abc", b"http://127.0.0.1:8000/messages/?session_id=abc"])
async def test_messages_are_posted_where_the_server_says_and_answered_on_the_stream(endpoint: bytes) -> None:
    async with bridge(Scripted(OldServer(endpoint))) as network, sse(URL, transport=network) as channel:
        answer = await ask(channel, INITIALIZE)
    value = {"protocolVersion": "2024-11-05", "posted_to": "/messages/?session_id=abc"}
    assert answer == Envelope((Result(1, value),))


async def test_where_to_post_may_be_somewhere_else_on_the_same_server() -> None:
    old = OldServer(b"/old")

    def serve(seen: Seen) -> Reply:
        return Reply(308, None, headers={"location": "/new"}) if seen.path == "/old" else old(seen)

    async with bridge(Scripted(serve)) as network, sse(URL, transport=network) as channel:
        answer = await ask(channel, INITIALIZE)
    assert answer == Envelope((Result(1, {"protocolVersion": "2024-11-05", "posted_to": "/new"}),))


async def test_a_client_falls_back_to_it_without_being_told() -> None:
    server = Scripted(OldServer())
    with anyio.fail_after(5):
        async with bridge(server) as network, Client(http(URL, transport=network)) as client:
            assert client.revision == "2024-11-05"
            await client.ping()
    assert [(seen.method, seen.path) for seen in server.seen[:4]] == [
        ("POST", "/mcp"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("POST", "/messages/?session_id=abc"),
    ]
    assert [seen.message.method for seen in server.seen[3:] if isinstance(seen.message, Request | Notification)] == [
        "initialize",
        "notifications/initialized",
        "ping",
    ]


async def test_that_it_is_deprecated_is_noted_once() -> None:
    noted: list[str] = []
    noticed: list[str] = []
    with anyio.fail_after(5):
        async with bridge(Scripted(OldServer())) as network:
            old, hears = http(URL, transport=network), {"on_deprecated": noted.append, "on_notice": noticed.append}
            async with Client(old, protocol="2024-11-05", **hears) as client:
                await client.ping()
    assert noted == [HTTP_SSE]
    assert noticed == []


async def test_what_it_fell_back_to_ends_the_connection_with_its_stream() -> None:
    server = OldServer()
    async with bridge(Scripted(server)) as network, http(URL, transport=network) as channel:
        await ask(channel, INITIALIZE)
        server.end()
        with anyio.fail_after(5), pytest.raises(ConnectionLost, match="closed its stream"):
            await channel.receive()


async def test_where_there_is_no_older_server_either_the_first_answer_counts() -> None:
    def serve(seen: Seen) -> Reply:
        return Reply(404 if seen.method == "POST" else 406, "text/plain", b"no")

    async with bridge(Scripted(serve)) as network, http(URL, transport=network) as channel:
        closed = await ask(channel, INITIALIZE)
    assert isinstance(closed, Closed)
    assert str(closed.error) == f"The server at {URL} has no MCP endpoint there (404); check the URL."


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_not_every_refusal_means_an_older_server(status: int) -> None:
    server = Scripted(lambda seen: Reply(status, "text/plain", b"no"))
    async with bridge(server) as network, http(URL, transport=network) as channel:
        closed = await ask(channel, INITIALIZE)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, Refused)
    assert closed.error.status == status
    assert [seen.method for seen in server.seen] == ["POST"]


async def test_the_end_of_the_stream_is_the_end_of_the_connection() -> None:
    server = OldServer()
    async with bridge(Scripted(server)) as network, sse(URL, transport=network) as channel:
        server.end()
        with anyio.fail_after(5), pytest.raises(ConnectionLost) as lost:
            await channel.receive()
    assert str(lost.value) == f"The server at {URL} closed its stream."


@pytest.mark.parametrize("endpoint", [b"https://evil.example/steal", b"//evil.example/", b"http://127.0.0.1:9000/"])
async def test_messages_go_to_no_other_server(endpoint: bytes) -> None:
    async with bridge(Scripted(OldServer(endpoint))) as network:
        with pytest.raises(ConnectionLost, match="wants messages posted to another server"):
            async with sse(URL, transport=network):
                pass


async def test_a_server_that_says_no_address_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_client, "ENDPOINT_SECONDS", 0.01)
    async with bridge(Scripted(OldServer(b""))) as network:
        with anyio.fail_after(5), pytest.raises(ConnectionLost, match="did not say where to post messages"):
            async with sse(URL, transport=network):
                pass


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(500, "text/plain", b"broken"), "expected JSON or SSE, got text/plain (500): broken."),
        (
            Reply(400, body=b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}'),
            'got application/json (400): {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}.',
        ),
    ],
)
async def test_a_message_that_is_not_taken_ends_the_wait_for_its_answer(reply: Reply, sentence: str) -> None:
    async with bridge(Scripted(OldServer(reply=reply))) as network, sse(URL, transport=network) as channel:
        closed = await ask(channel, INITIALIZE)
        await channel.send(Envelope((Notification("x"),)))
    assert isinstance(closed, Closed)
    assert str(closed.error).endswith(sentence)


async def test_a_server_that_never_takes_a_message_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_client, "RECEIPT_SECONDS", 0.01)

    async def silence() -> AsyncIterator[bytes]:
        yield b" "
        await anyio.sleep_forever()

    server = OldServer(reply=Reply(202, None, silence))
    async with bridge(Scripted(server)) as network, sse(URL, transport=network) as channel:
        closed = await ask(channel, INITIALIZE)
    assert isinstance(closed, Closed)
    assert str(closed.error) == f"The server at {URL} did not take a message in time."
