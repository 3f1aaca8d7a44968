"""A connection of a client, on a server that answers by the book, or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import ByteStream, SocketAttribute, SocketStream

from agent.mcp.transports import http_connection
from agent.mcp.transports.http_connection import HttpConnection, connect

pytestmark = pytest.mark.anyio

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Host:
    """Answers each request on a connection with the next of `answers`; None hangs up, and so does their end."""

    def __init__(self, *answers: bytes | None) -> None:
        self._answers, self.port, self.connections = answers, 0, 0
        self.asked, self.hung_up = anyio.Event(), anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            for answer in self._answers:
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await stream.receive()
                    self.asked.set()
                if answer is None:
                    break
                await stream.send(answer)
        self.hung_up.set()

    @property
    def request(self) -> httpx2.Request:
        return httpx2.Request("POST", f"http://127.0.0.1:{self.port}/mcp?a=b", content=b"{}")


@asynccontextmanager
async def host(*answers: bytes | None) -> AsyncIterator[Host]:
    found = Host(*answers)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        found.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, found.serve)
        with anyio.fail_after(5):
            yield found
        tasks.cancel_scope.cancel()


async def body(made: HttpConnection) -> bytes:
    return b"".join([part async for part in made.body()])


@pytest.mark.parametrize(
    ("answer", "serves_again"),
    [
        (WHOLE, True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n2\r\nhi\r\n0\r\nx: y\r\n\r\n",
            True,
        ),
        (b"HTTP/1.1 102 Processing\r\n\r\n" + WHOLE, True),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + WHOLE, True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", False),
        (b"HTTP/1.0 200 OK\r\n\r\nhi", False),
    ],
)
async def test_an_answer_is_read_to_its_end(answer: bytes, serves_again: bool) -> None:
    async with host(answer) as there:
        made = await connect("127.0.0.1", there.port, None)
        head = await made.ask(there.request)
        assert (head.status_code, await body(made), made.ready()) == (200, b"hi", serves_again)
        await made.aclose()


async def test_an_answer_that_is_not_read_to_its_end_leaves_no_connection_for_others() -> None:
    async with host(WHOLE) as there:
        made = await connect("127.0.0.1", there.port, None)
        await made.ask(there.request)
        assert not made.ready()
        await made.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 110_000,
    ],
)
async def test_what_is_no_answer_has_a_name(answer: bytes | None) -> None:
    async with host(answer) as there:
        made = await connect("127.0.0.1", there.port, None)
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await made.ask(there.request)
        await made.aclose()


async def test_a_server_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "WRITE_SECONDS", 0.05)
    deaf = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with deaf:
        made = await connect("127.0.0.1", deaf.extra(SocketAttribute.local_port), None)
        with pytest.raises(httpx2.WriteTimeout), anyio.fail_after(5):
            await made.ask(httpx2.Request("POST", "http://127.0.0.1/mcp", content=b"x" * 32_000_000))
        await made.aclose()


class Slow(ByteStream):
    """Takes what is sent; `patience` is how long each piece may take for that."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self.pieces: list[bytes] = []
        self.patience: list[float] = []

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self._stream.extra_attributes

    async def send(self, item: bytes) -> None:
        self.pieces.append(item)
        self.patience.append(anyio.current_effective_deadline() - anyio.current_time())

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return WHOLE

    async def send_eof(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        await self._stream.aclose()


async def test_each_piece_of_a_long_request_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "WRITE_SECONDS", 1.0)
    request = httpx2.Request("POST", "http://127.0.0.1/mcp", content=b"x" * 100_000)
    async with host(WHOLE) as there:
        stream = Slow(await anyio.connect_tcp("127.0.0.1", there.port))
        made = HttpConnection(stream)
        await made.ask(request)
        await made.aclose()
    assert b"".join(stream.pieces).endswith(b"\r\n\r\n" + b"x" * 100_000)
    assert max(map(len, stream.pieces)) == http_connection.PIECE
    assert all(0.9 < seconds <= 1 for seconds in stream.patience)
