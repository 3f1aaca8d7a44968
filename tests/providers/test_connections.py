from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from agent.chat.messages import user
from agent.chat.provider import Finished, Provider, ProviderError, Request, TextDelta
from tests.providers.wire import RESPONSES, Api, Reply, heard

pytestmark = pytest.mark.anyio

ASK = Request((user("hi"),))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


class Peer:
    """A server that says what it is told, and notes when the client has gone."""

    def __init__(self, talk: Callable[[SocketStream], Awaitable[None]]) -> None:
        self._talk = talk
        self.connections = 0
        self.requests = 0
        self.is_left = anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    await _read_request(stream)
                    self.requests += 1
                    await self._talk(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.is_left.set()


async def _read_request(stream: SocketStream) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += await stream.receive()


@asynccontextmanager
async def served(api: Api, talk: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[tuple[Peer, Provider]]:
    peer = Peer(talk)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    chosen = "responses" if api is RESPONSES else None
    config = replace(api.config, base_url=f"http://127.0.0.1:{port}/v1", api=chosen)
    provider = replace(api, config=config).open()
    with anyio.fail_after(10):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, peer.serve)
            yield peer, provider
            await provider.aclose()
            tasks.cancel_scope.cancel()


def beginning(api: Api) -> bytes:
    """A stream up to and with its first text."""
    body = api.encode(Reply(("Hello", " you")))
    at = body.index(b'"Hello"')
    return body[: body.index(b"\n\n", at) + 2]


async def say_hello_and_wait(api: Api, stream: SocketStream) -> None:
    await stream.send(HEAD + chunk(beginning(api)))
    await stream.receive()  # nothing more comes: it ends when the client goes


async def test_a_host_that_nobody_knows_is_sought_once_more_and_no_oftener(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with anyio.fail_after(40), pytest.raises(ProviderError) as caught:
        await heard(api.open(), ASK)
    error = caught.value
    brief = f"The host {api.config.host} of {api.config.name} was not found"
    assert (error.kind, error.retryable, error.tries, error.brief) == ("connection", True, 2, f"{brief}.")
    assert str(error) == f"{brief}; check the network and the base_url."


async def test_closing_the_stream_early_closes_the_connection(api: Api) -> None:
    async with served(api, lambda stream: say_hello_and_wait(api, stream)) as (peer, provider):
        async with aclosing(provider.stream(ASK)) as items:
            assert await anext(items) == TextDelta("Hello")
        with anyio.fail_after(2):
            await peer.is_left.wait()


async def test_cancelling_while_the_model_is_silent_closes_the_connection(api: Api) -> None:
    async with served(api, lambda stream: say_hello_and_wait(api, stream)) as (peer, provider):
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                async with aclosing(provider.stream(ASK)) as items:
                    async for item in items:
                        assert item == TextDelta("Hello")
                        tasks.cancel_scope.cancel()

            tasks.start_soon(listen)
        with anyio.fail_after(2):
            await peer.is_left.wait()


async def test_cancelling_before_any_answer_closes_the_connection(api: Api) -> None:
    async def say_nothing(stream: SocketStream) -> None:
        asked.set()
        await stream.receive()

    asked = anyio.Event()
    async with served(api, say_nothing) as (peer, provider):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heard, provider, ASK)
            await asked.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(2):
            await peer.is_left.wait()


async def test_a_stop_sequence_closes_the_connection() -> None:
    async with served(RESPONSES, lambda stream: say_hello_and_wait(RESPONSES, stream)) as (peer, provider):
        items = await heard(provider, replace(ASK, stop_sequences=("llo",)))
        assert items[0] == TextDelta("He")
        with anyio.fail_after(2):
            await peer.is_left.wait()


async def test_a_server_that_hangs_up_is_one_error(api: Api) -> None:
    async def hang_up(stream: SocketStream) -> None:
        await stream.send(HEAD + chunk(beginning(api)))
        await stream.aclose()

    async with served(api, hang_up) as (_, provider):
        with pytest.raises(ProviderError) as caught:
            await heard(provider, ASK)
        assert (caught.value.kind, caught.value.retryable) == ("connection", True)


async def test_one_connection_serves_many_requests(api: Api) -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.send(HEAD + chunk(api.encode(Reply(("Hello",)))) + chunk(b""))

    async with served(api, answer) as (peer, provider):
        for _ in range(3):
            assert isinstance((await heard(provider, ASK))[-1], Finished)
        assert (peer.connections, peer.requests) == (1, 3)


@pytest.mark.parametrize("api", [RESPONSES], ids=["responses"])
async def test_a_server_that_does_not_hang_up_at_the_end_is_not_waited_for(api: Api) -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.send(HEAD + chunk(api.encode(Reply(("Hello",)))))
        await stream.receive()

    async with served(api, answer) as (peer, provider):
        with anyio.fail_after(2):
            assert isinstance((await heard(provider, ASK))[-1], Finished)
            await peer.is_left.wait()


async def test_two_streams_at_once_do_not_disturb_each_other(api: Api) -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.send(HEAD + chunk(beginning(api)))
        both.set() if both_begun() else None
        await both.wait()
        await stream.send(chunk(api.encode(Reply(("Hello", " you")))[len(beginning(api)) :]) + chunk(b""))

    begun: list[None] = []
    both = anyio.Event()

    def both_begun() -> bool:
        begun.append(None)
        return len(begun) == 2

    ends: list[str] = []

    async def listen() -> None:
        end = (await heard(provider, ASK))[-1]
        assert isinstance(end, Finished)
        ends.append(end.message.text)

    async with served(api, answer) as (_, provider), anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        tasks.start_soon(listen)
    assert ends == ["Hello you", "Hello you"]


async def test_closing_before_any_request_is_nothing(api: Api) -> None:
    await api.open().aclose()
