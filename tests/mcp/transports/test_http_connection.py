"""A connection of a client, on a server that answers by the book, or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream

from agent.mcp.transports import http_connection
from agent.mcp.transports.http_connection import HttpConnection, connect
from agent.mcp.transports.http_pool import HttpPool

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
        (b"HTTP/1.1 102 Processing\r\n\r\n" + WHOLE, True),
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


async def test_a_connection_that_was_closed_while_it_was_idle_is_not_used_again() -> None:
    async with host(WHOLE) as there, HttpPool() as pool:
        for connections in (1, 2):
            there.hung_up = anyio.Event()
            answer = await pool.handle_async_request(there.request)
            await answer.aread()
            await answer.aclose()
            await there.hung_up.wait()
            assert there.connections == connections


async def test_a_request_that_is_withdrawn_closes_its_connection() -> None:
    async with host(b"", None) as there, HttpPool() as pool, anyio.create_task_group() as tasks:
        tasks.start_soon(pool.handle_async_request, there.request)
        await there.asked.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await there.hung_up.wait()
