"""The stdio of a server, over pipes in this process."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from agent.mcp.envelope import Envelope, Garbled
from agent.mcp.jsonrpc import Notification, Request, Result, encode
from agent.mcp.transports.stdio_server import StdioServerChannel

pytestmark = pytest.mark.anyio

PING = Envelope((Request(1, "ping"),))
LARGE = "x" * 1_000_000  # more than any pipe holds


class Pipes:
    """A channel, and the two other ends."""

    def __init__(self) -> None:
        self.reading, self.to_server = os.pipe()
        self.from_server, self.writing = os.pipe()
        self.channel = StdioServerChannel(self.reading, self.writing)
        self.open = {self.reading, self.to_server, self.from_server, self.writing}

    def close(self, *descriptors: int) -> None:
        for descriptor in descriptors or tuple(self.open):
            self.open.discard(descriptor)
            os.close(descriptor)

    async def read_line(self) -> bytes:
        """What the server wrote, up to a newline."""
        read = bytearray()
        while not read.endswith(b"\n"):
            await anyio.wait_readable(self.from_server)
            read += os.read(self.from_server, 1 << 20)
        return bytes(read)


@pytest.fixture
async def pipes() -> AsyncIterator[Pipes]:
    made = Pipes()
    yield made
    await made.channel.aclose()
    made.close()


async def test_lines_are_read_however_they_arrive(pipes: Pipes) -> None:
    line = encode(Request(1, "tools/call", {"text": "žluť 漢字 🎉"})) + b"\n"
    with anyio.fail_after(5):
        for byte in line:
            os.write(pipes.to_server, bytes([byte]))
        assert await pipes.channel.receive() == Envelope((Request(1, "tools/call", {"text": "žluť 漢字 🎉"}),))
        os.write(pipes.to_server, b"\n  \r\n" + encode(PING.messages[0]) + b"\r\n" + b"nonsense\n")
        assert await pipes.channel.receive() == PING
        assert isinstance(await pipes.channel.receive(), Garbled)


async def test_the_last_line_needs_no_newline(pipes: Pipes) -> None:
    os.write(pipes.to_server, encode(PING.messages[0]))
    pipes.close(pipes.to_server)
    with anyio.fail_after(5):
        assert await pipes.channel.receive() == PING
        with pytest.raises(anyio.EndOfStream):
            await pipes.channel.receive()


async def test_a_line_beyond_the_limit_is_refused_and_the_next_is_read(pipes: Pipes) -> None:
    channel = StdioServerChannel(pipes.reading, pipes.writing, limit=100)
    with anyio.fail_after(5):
        os.write(pipes.to_server, encode(Request(7, "tools/call", {"text": "x" * 200})) + b"\n")
        os.write(pipes.to_server, encode(PING.messages[0]) + b"\n")
        refused = await channel.receive()
        assert isinstance(refused, Garbled)
        assert (refused.id, refused.kind) == (7, "request")
        assert await channel.receive() == PING


async def test_what_is_larger_than_the_pipe_is_written_while_it_is_read(pipes: Pipes) -> None:
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.channel.send, Envelope((Result(1, LARGE),)))
            assert await pipes.read_line() == encode(Result(1, LARGE)) + b"\n"


async def test_a_reader_that_stalls_does_not_hold_up_the_loop(pipes: Pipes) -> None:
    """Reading goes on although writing cannot, and giving up the writing is possible."""
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.channel.send, Envelope((Result(1, LARGE),)))
            os.write(pipes.to_server, encode(PING.messages[0]) + b"\n")
            assert await pipes.channel.receive() == PING
            tasks.cancel_scope.cancel()


async def test_a_line_is_never_torn(pipes: Pipes) -> None:
    """Cancelled in its middle, it is finished before the next begins."""
    with anyio.fail_after(5):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pipes.channel.send, Envelope((Result(1, LARGE),)))
                await anyio.wait_readable(pipes.from_server)
                scope.cancel()
        lines = bytearray()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.channel.send, Envelope((Notification("next"),)))
            while lines.count(b"\n") < 2:
                await anyio.wait_readable(pipes.from_server)
                lines += os.read(pipes.from_server, 1 << 20)
    assert lines.splitlines() == [encode(Result(1, LARGE)), encode(Notification("next"))]


async def test_lines_written_at_once_do_not_mix(pipes: Pipes) -> None:
    sent = [encode(Result(number, str(number) * 50_000)) for number in range(20)]
    lines = bytearray()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(pipes.channel.send, Envelope((Result(number, str(number) * 50_000),)))
            while lines.count(b"\n") < 20:
                await anyio.wait_readable(pipes.from_server)
                lines += os.read(pipes.from_server, 1 << 20)
    assert sorted(lines.splitlines()) == sorted(sent)


async def test_a_closed_stdout_ends_the_reading_too(pipes: Pipes) -> None:
    pipes.close(pipes.from_server)
    ended = anyio.Event()

    async def read() -> None:
        with pytest.raises(anyio.BrokenResourceError):
            await pipes.channel.receive()
        ended.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(anyio.BrokenResourceError):
                await pipes.channel.send(PING)
            await ended.wait()
        with pytest.raises(anyio.BrokenResourceError):
            await pipes.channel.receive()


async def test_a_socket_is_written_too_and_its_flags_stay_as_they_are() -> None:
    """What some hosts give as stdio, which cannot be opened once more."""
    ours, theirs = socket.socketpair()
    reading, to_server = os.pipe()
    channel = StdioServerChannel(reading, ours.fileno())
    received = bytearray()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.send, Envelope((Result(1, LARGE),)))
            while not received.endswith(b"\n"):
                await anyio.wait_readable(theirs)
                received += theirs.recv(1 << 20)
        theirs.close()
        with pytest.raises(anyio.BrokenResourceError):
            await channel.send(PING)
    assert received == encode(Result(1, LARGE)) + b"\n"
    assert os.get_blocking(ours.fileno())
    await channel.aclose()
    ours.close()
    os.close(reading)
    os.close(to_server)


async def test_the_flags_of_a_pipe_stay_as_they_are(pipes: Pipes) -> None:
    """Others may write to it who do not expect that a write can fail."""
    await pipes.channel.send(PING)
    assert os.get_blocking(pipes.writing)
    assert os.get_blocking(pipes.reading)


async def test_a_regular_file_is_read_too(pipes: Pipes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(encode(PING.messages[0]) + b"\n")
        file.seek(0)
        channel = StdioServerChannel(file.fileno(), pipes.writing)
        with anyio.fail_after(5):
            assert await channel.receive() == PING
            with pytest.raises(anyio.EndOfStream):
                await channel.receive()


async def test_a_descriptor_that_does_not_block_is_served_as_well(pipes: Pipes) -> None:
    os.set_blocking(pipes.reading, False)
    os.set_blocking(pipes.writing, False)
    received: list[Any] = []

    async def receive() -> None:
        received.append(await pipes.channel.receive())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            tasks.start_soon(pipes.channel.send, Envelope((Result(1, LARGE),)))
            assert await pipes.read_line() == encode(Result(1, LARGE)) + b"\n"
            os.write(pipes.to_server, encode(PING.messages[0]) + b"\n")
    assert received == [PING]
