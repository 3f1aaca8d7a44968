"""Connections that are used again, or are not, on a server that closes them whenever it likes."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream

from agent.mcp.transports import http_connection, http_pool
from agent.mcp.transports.http_pool import HttpPool

pytestmark = pytest.mark.anyio

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
PART = b"HTTP/1.1 2"


class Host:
    """Answers on each connection with what the next of `scripts` holds, then closes it; None closes it unanswered."""

    def __init__(self, *scripts: tuple[bytes | None, ...]) -> None:
        self._scripts, self.port, self.connections = [*scripts], 0, 0
        self.seen: list[bytes] = []
        self.asked, self.hung_up = anyio.Event(), anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        script = self._scripts.pop(0)
        async with stream:
            for answer in script:
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    self.seen.append(await stream.receive())
                    self.asked.set()
                if answer is None:
                    break
                await stream.send(answer)
        self.hung_up.set()

    def request(self, name: str = "127.0.0.1") -> httpx2.Request:
        return httpx2.Request("POST", f"http://{name}:{self.port}/mcp?a=b", content=b"{}")


@asynccontextmanager
async def host(*scripts: tuple[bytes | None, ...], address: str = "127.0.0.1") -> AsyncIterator[tuple[Host, HttpPool]]:
    found = Host(*scripts)
    async with await anyio.create_tcp_listener(local_host=address) as listener, anyio.create_task_group() as tasks:
        found.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, found.serve)
        async with HttpPool() as pool:
            with anyio.fail_after(5):
                yield found, pool
        tasks.cancel_scope.cancel()


async def answered(pool: HttpPool, request: httpx2.Request) -> bytes:
    response = await pool.handle_async_request(request)
    try:
        return await response.aread()
    finally:
        await response.aclose()


async def test_a_connection_that_was_closed_while_it_was_idle_is_not_used_again() -> None:
    async with host((WHOLE,), (WHOLE,)) as (there, pool):
        for connections in (1, 2):
            there.hung_up = anyio.Event()
            assert await answered(pool, there.request()) == b"hi"
            await there.hung_up.wait()
            assert there.connections == connections


async def test_a_request_that_a_closing_connection_swallowed_is_sent_once_more_on_a_fresh_one() -> None:
    async with host((WHOLE, None), (WHOLE, None), (None,)) as (there, pool):
        assert await answered(pool, there.request()) == b"hi"
        assert await answered(pool, there.request()) == b"hi"
        assert there.connections == 2
        with pytest.raises(httpx2.ReadError):
            await answered(pool, there.request())
    assert there.connections == 3


async def test_a_request_on_a_fresh_connection_is_not_repeated() -> None:
    async with host((None,)) as (there, pool):
        with pytest.raises(httpx2.ReadError):
            await answered(pool, there.request())
    assert there.connections == 1


async def test_a_request_of_whose_answer_a_byte_came_is_not_repeated() -> None:
    async with host((WHOLE, PART)) as (there, pool):
        assert await answered(pool, there.request()) == b"hi"
        with pytest.raises(httpx2.RemoteProtocolError):
            await answered(pool, there.request())
    assert there.connections == 1


async def test_a_request_over_which_a_server_dies_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "CLOSING_SECONDS", -1.0)
    async with host((WHOLE, None)) as (there, pool):
        assert await answered(pool, there.request()) == b"hi"
        with pytest.raises(httpx2.ReadError):
            await answered(pool, there.request())
    assert there.connections == 1


async def test_a_request_that_is_withdrawn_closes_its_connection() -> None:
    async with host((b"", None)) as (there, pool), anyio.create_task_group() as tasks:
        tasks.start_soon(pool.handle_async_request, there.request())
        await there.asked.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await there.hung_up.wait()


async def test_an_address_of_the_sixth_version_is_understood() -> None:
    async with host((WHOLE,), address="::1") as (there, pool):
        assert await answered(pool, there.request("[::1]")) == b"hi"
    assert b"Host: [::1]:%d\r\n" % there.port in there.seen[0]


async def test_a_name_in_another_script_is_looked_up_and_named_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    connect_tcp: Callable[..., Any] = anyio.connect_tcp

    async def connect(name: str, port: int) -> SocketStream:
        looked_up.append(name)
        found: SocketStream = await connect_tcp("127.0.0.1", port)
        return found

    monkeypatch.setattr("anyio.connect_tcp", connect)
    async with host((WHOLE,)) as (there, pool):
        assert await answered(pool, there.request("bücher.example")) == b"hi"
    assert looked_up == ["xn--bcher-kva.example"]
    assert b"Host: xn--bcher-kva.example:%d\r\n" % there.port in there.seen[0]


@pytest.mark.skipif(not hasattr(socket, "TCP_NOTSENT_LOWAT"), reason="a system without this option")
async def test_a_request_does_not_pile_up_ahead_of_a_slow_network() -> None:
    deaf = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with deaf:
        made = await http_connection.connect("127.0.0.1", deaf.extra(SocketAttribute.local_port), None)
        option = made._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
        assert option == http_connection.UNSENT
        await made.aclose()
