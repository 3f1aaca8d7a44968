"""The client's end of Streamable HTTP over real sockets: connections that fail, break, and serve again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from agent.mcp.envelope import Channel, Closed, ConnectionLost, Envelope
from agent.mcp.jsonrpc import Notification, Request, Result, encode
from agent.mcp.protocol import REVISION_KEY
from agent.mcp.transports import http_exchange, http_streams
from agent.mcp.transports.http_client import http
from tests.mcp.scripted_http import event, result

pytestmark = pytest.mark.anyio

Serve = Callable[[SocketStream], Awaitable[None]]


class Host:
    """What listens on a port of this machine."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[Host]:
    host = Host()

    async def handle(stream: SocketStream) -> None:
        host.connections += 1
        async with stream:
            await serve(stream)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        host.url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
        tasks.start_soon(listener.serve, handle)
        yield host
        tasks.cancel_scope.cancel()


async def request(stream: SocketStream) -> bytes:
    """Read one request; nothing if there is none."""
    seen = b""
    try:
        while not _is_whole(seen):
            seen += await stream.receive()
    except anyio.EndOfStream:
        return b""
    return seen


def _is_whole(seen: bytes) -> bool:
    return b"\r\n\r\n" in seen and (seen.startswith(b"GET") or seen.endswith(b"}"))


def document(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


async def ask(channel: Channel, request: Request) -> object:
    with anyio.fail_after(5):
        await channel.send(Envelope((request,)))
        return await channel.receive()


async def sentence(url: str, headers: dict[str, str] | None = None) -> str:
    async with http(url, headers=headers) as channel:
        closed = await ask(channel, Request(1, "ping"))
    assert isinstance(closed, Closed)
    return str(closed.error)


async def echo(stream: SocketStream) -> None:
    while await request(stream):
        await stream.send(document(result()))


async def hang_up(stream: SocketStream) -> None:
    await request(stream)


async def test_one_connection_serves_request_after_request() -> None:
    async with listening(echo) as host, http(host.url) as channel:
        for _ in range(5):
            assert await ask(channel, Request(1, "ping")) == Envelope((Result(1, {}),), about=1)
        assert host.connections == 1


async def test_a_large_request_arrives_whole() -> None:
    async def measure(stream: SocketStream) -> None:
        seen = await request(stream)
        await stream.send(document(result(size=len(seen.partition(b"\r\n\r\n")[2]))))

    asked = Request(1, "x", {"text": "x" * 1_000_000})
    async with listening(measure) as host, http(host.url) as channel:
        assert await ask(channel, asked) == Envelope((Result(1, {"size": len(encode(asked))}),), about=1)


async def test_a_server_that_has_had_enough_may_say_so_before_it_hangs_up() -> None:
    async def full(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 413 Too Large\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nFull")

    async with listening(full) as host, http(host.url) as channel:
        closed = await ask(channel, Request(1, "x", {"text": "x" * 50_000}))
    assert isinstance(closed, Closed)
    assert str(closed.error).endswith("expected JSON or SSE, got text/plain (413): Full.")


async def test_requests_in_flight_have_a_connection_each_and_leave_it_to_the_next() -> None:
    arrived = 0
    all_here = anyio.Event()

    async def together(stream: SocketStream) -> None:
        nonlocal arrived
        while await request(stream):
            arrived += 1
            if arrived >= 64:
                all_here.set()
            await all_here.wait()
            await stream.send(document(result()))

    async with listening(together) as host, http(host.url) as channel:
        with anyio.fail_after(10):
            for _ in range(2):
                for id in range(64):
                    await channel.send(Envelope((Request(id, "ping"),)))
                for _ in range(64):
                    await channel.receive()
        assert host.connections == 64


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def proxy(stream: SocketStream) -> None:
        asked.append(await request(stream))
        await stream.send(document(result()))

    async with listening(proxy) as host:
        monkeypatch.setenv("http_proxy", host.url.removesuffix("/mcp"))
        monkeypatch.setenv("no_proxy", "")
        async with http("http://mcp.example/mcp") as channel:
            assert await ask(channel, Request(1, "ping")) == Envelope((Result(1, {}),), about=1)
    assert asked[0].startswith(b"POST http://mcp.example/mcp HTTP/1.1\r\n")


@pytest.mark.parametrize("exempt", ["mcp.example", ".example", "*", "other.example, mcp.example:{port}"])
async def test_a_server_that_is_exempt_from_the_proxy_is_asked_itself(
    exempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_tcp: Callable[..., Awaitable[SocketStream]] = anyio.connect_tcp

    async def connect(remote_host: str, remote_port: int, **more: object) -> SocketStream:
        assert remote_host == "mcp.example"
        return await connect_tcp("127.0.0.1", remote_port)

    monkeypatch.setattr("anyio.connect_tcp", connect)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with listening(echo) as host:
        port = host.url.rpartition(":")[2].removesuffix("/mcp")
        monkeypatch.setenv("no_proxy", exempt.format(port=port))
        async with http(f"http://mcp.example:{port}/mcp") as channel:
            assert await ask(channel, Request(1, "ping")) == Envelope((Result(1, {}),), about=1)


@pytest.mark.parametrize("proxy", ["ftp://127.0.0.1", "http://[::1"])
async def test_a_proxy_that_is_none_is_said_so_at_once(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(ConnectionLost, match="cannot be asked: a proxy or certificates that the environment names"):
        async with http("http://mcp.example/mcp"):
            pass


async def test_nobody_there_is_said_so() -> None:
    async with listening(echo) as host:
        url = host.url
    assert await sentence(url) == f"The server at {url} refused the connection; is it running?"


async def test_what_needs_no_answer_is_lost_in_silence() -> None:
    async with listening(echo) as host:
        url = host.url
    async with http(url) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((Notification("notifications/roots/list_changed"),)))


async def test_a_plain_server_at_a_tls_url_is_said_so() -> None:
    async def plain(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async with listening(plain) as host:
        url = host.url.replace("http:", "https:")
        assert (await sentence(url)).startswith(f"The server at {url} does not speak TLS as expected")


async def test_a_server_that_hangs_up_is_said_so() -> None:
    async with listening(hang_up) as host:
        assert await sentence(host.url) == f"The server at {host.url} closed the connection in the middle of an answer."


async def test_an_answer_that_breaks_off_is_said_so() -> None:
    async def half(stream: SocketStream) -> None:
        await request(stream)
        await stream.send(document(result())[:-5])

    async with listening(half) as host:
        assert await sentence(host.url) == f"The server at {host.url} closed the connection in the middle of an answer."


async def test_nonsense_for_http_is_said_so() -> None:
    async def nonsense(stream: SocketStream) -> None:
        await request(stream)
        await stream.send(b"\x00\xff SSH-2.0-OpenSSH\r\n\r\n")

    async with listening(nonsense) as host:
        assert await sentence(host.url) == f"The server at {host.url} closed the connection in the middle of an answer."


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\0b"])
async def test_a_header_http_cannot_hold_is_said_so(value: str) -> None:
    async with listening(echo) as host:
        assert (await sentence(host.url, {"x": value})).startswith(
            f"The server at {host.url} cannot be asked: a header"
        )


async def test_a_withdrawn_stateless_request_closes_its_connection() -> None:
    left = anyio.Event()

    async def silent(stream: SocketStream) -> None:
        await request(stream)
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        assert not await request(stream)
        left.set()

    params = {"_meta": {REVISION_KEY: "2026-07-28"}}
    async with listening(silent) as host, http(host.url) as channel:
        await channel.send(Envelope((Request(1, "subscriptions/listen", params),)))
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            await channel.send(Envelope((Notification("notifications/cancelled", {"requestId": 1}),)))
            await left.wait()


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def test_a_stream_that_broke_off_is_taken_up_although_that_fails_at_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_streams, "RETRY_SECONDS", 0.01)
    asked: list[bytes] = []

    async def breaking(stream: SocketStream) -> None:
        asked.append(await request(stream))
        if len(asked) == 1:
            await stream.send(STREAM + chunk(event(b"", id="1", retry=0)))
        elif len(asked) == 4:
            await stream.send(STREAM + chunk(event(result(), id="2")) + b"0\r\n\r\n")

    async with listening(breaking) as host, http(host.url) as channel:
        assert await ask(channel, Request(1, "ping")) == Envelope((Result(1, {}),), about=1)
    assert [b"last-event-id: 1\r\n" in seen for seen in asked] == [False, True, True, True]


async def test_a_stream_that_cannot_be_taken_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_streams, "RETRY_SECONDS", 0.001)
    asked = 0

    async def breaking(stream: SocketStream) -> None:
        nonlocal asked
        asked += 1
        await request(stream)
        if asked == 1:
            await stream.send(STREAM + chunk(event(b"", id="1", retry=0)))

    async with listening(breaking) as host:
        assert await sentence(host.url) == f"The server at {host.url} closed the connection in the middle of an answer."
    assert asked == 1 + http_exchange.ATTEMPTS
