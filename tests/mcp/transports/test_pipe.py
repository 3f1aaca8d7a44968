from __future__ import annotations

import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator

import anyio
import anyio.lowlevel
import pytest

from agent.mcp.transports.pipe import READ_BYTES, PipeReader, PipeWriter

pytestmark = pytest.mark.anyio

LONG = b"y" * (1 << 20) + b"\n"


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """A pipe's two descriptors; the writer closes its own."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def drain(reading: int, count: int) -> bytes:
    read = b""
    while len(read) < count:
        await anyio.wait_readable(reading)
        read += os.read(reading, 1 << 16)
    return read


@pytest.fixture
async def reader(ends: tuple[int, int]) -> AsyncIterator[PipeReader]:
    made = PipeReader(os.dup(ends[0]))
    yield made
    await made.aclose()


async def test_what_comes_is_read_up_to_the_end(reader: PipeReader, ends: tuple[int, int]) -> None:
    with anyio.fail_after(5):
        for word in (b"one", b"two"):
            os.write(ends[1], word)
            assert await reader.receive() == word
        os.close(ends[1])
        for _ in range(2):
            with pytest.raises(anyio.EndOfStream):
                await reader.receive()


async def test_what_nobody_fetches_waits_in_the_pipe(reader: PipeReader, ends: tuple[int, int]) -> None:
    """At most one piece of it is taken out, so that a writer nobody listens to has to wait."""
    os.set_blocking(ends[1], False)
    with anyio.move_on_after(0.01) as scope:
        await reader.receive()
    assert scope.cancelled_caught
    filled = os.write(ends[1], b"z" * (1 << 20))
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    assert os.write(ends[1], b"z" * (1 << 20)) <= READ_BYTES
    with pytest.raises(BlockingIOError):
        os.write(ends[1], b"z")
    with anyio.fail_after(5):
        assert len(await reader.receive()) == READ_BYTES
        assert len(await reader.receive()) <= filled


async def test_closing_ends_the_wait(reader: PipeReader) -> None:
    ended = anyio.Event()

    async def read() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await reader.receive()
        ended.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await reader.aclose()
            await ended.wait()
    with pytest.raises(anyio.ClosedResourceError):
        await reader.receive()


async def test_a_file_that_cannot_be_waited_for_is_refused() -> None:
    with tempfile.TemporaryFile() as file:
        reader = PipeReader(os.dup(file.fileno()))
        with pytest.raises(PermissionError):
            await reader.receive()
        await reader.aclose()


async def test_a_short_line_is_written_at_once(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    await writer.send(b"one\n")
    assert os.read(ends[0], 100) == b"one\n"
    await writer.aclose()
    assert os.read(ends[0], 100) == b""


async def test_long_lines_of_several_senders_come_whole(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for letter in b"abc":
                tasks.start_soon(writer.send, bytes([letter]) * (1 << 18) + b"\n")
            read = await drain(ends[0], 3 * ((1 << 18) + 1))
    await writer.aclose()
    assert sorted(read.split(b"\n")) == [b"", b"a" * (1 << 18), b"b" * (1 << 18), b"c" * (1 << 18)]


async def test_a_cancelled_line_is_finished_before_the_next(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    with anyio.fail_after(5):
        with anyio.move_on_after(0.01) as scope:
            await writer.send(LONG)
        assert scope.cancelled_caught
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.send, b"next\n")
            assert await drain(ends[0], len(LONG) + 5) == LONG + b"next\n"
    await writer.aclose()


async def test_closing_writes_what_is_left(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    with anyio.fail_after(5):
        with anyio.move_on_after(0.01):
            await writer.send(LONG)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.aclose)
            assert await drain(ends[0], len(LONG)) == LONG
        assert os.read(ends[0], 1) == b""


async def test_closing_a_pipe_nobody_reads_takes_bounded_time(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    with anyio.move_on_after(0.01):
        await writer.send(LONG)
    started = time.monotonic()
    await writer.aclose()
    await writer.aclose()
    assert time.monotonic() - started < 2


async def test_after_closing_nothing_can_be_sent(ends: tuple[int, int]) -> None:
    writer = PipeWriter(ends[1])
    await writer.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await writer.send(b"x")


async def test_a_reader_that_left_is_noticed() -> None:
    reading, writing = os.pipe()
    writer = PipeWriter(writing)
    os.close(reading)
    for _ in range(2):
        with pytest.raises(anyio.BrokenResourceError):
            await writer.send(b"x")
    await writer.aclose()


async def test_a_reader_that_leaves_while_we_wait_is_noticed() -> None:
    reading, writing = os.pipe()
    writer = PipeWriter(writing)
    with anyio.move_on_after(0.01):
        await writer.send(LONG)
    os.close(reading)
    await writer.aclose()
