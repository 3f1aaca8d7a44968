"""The stdin and stdout of this process as a channel (section "Transports, stdio").

Nothing here blocks the event loop or uses a thread: a descriptor is read or written only when it is ready, and only as
far as that cannot block.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import ByteSendStream, ObjectStream

from agent.mcp.envelope import ConnectionLost, Envelope, Inbound
from agent.mcp.framing import LINE_LIMIT, Lines, to_line
from agent.mcp.transports.pipe import READ_BYTES, PipeReader, PipeWriter


class StdioServerChannel(ObjectStream[Any]):
    """Reads lines from one descriptor and writes lines to another; the caller closes both, after `aclose`."""

    def __init__(self, reading: int, writing: int, limit: int = LINE_LIMIT) -> None:
        self._reading = reading
        self._reader = PipeReader(os.dup(reading))
        self._writer = _writer(writing)
        self._lines = Lines(limit)
        self._received: deque[Inbound] = deque()
        self._ended = self._broken = False
        self._pollable = True

    async def receive(self) -> Inbound:
        while not self._received:
            if self._broken:
                raise anyio.BrokenResourceError
            if self._ended:
                raise anyio.EndOfStream
            await self._read()
        return self._received.popleft()

    async def send(self, item: Envelope) -> None:
        """If cancelled in the middle of a line, the rest of it is sent before the next one."""
        try:
            await self._writer.send(to_line(item))
        except anyio.BrokenResourceError:
            self._broken = True
            await self._reader.aclose()  # if responses cannot be sent, requests need not be read
            raise

    async def send_eof(self) -> None:
        """Nothing to do: the owner of the descriptor closes it."""

    async def aclose(self) -> None:
        self._ended = True
        await self._reader.aclose()
        await self._writer.aclose()

    async def _read(self) -> None:
        try:
            data = await self._read_some()
        except anyio.ClosedResourceError:  # writing failed meanwhile
            return
        except (anyio.EndOfStream, OSError):  # a closed terminal counts as the end of the input
            data = b""
        self._ended = not data
        self._received.extend(self._lines.feed(data) if data else self._lines.end())

    async def _read_some(self) -> bytes:
        if self._pollable:
            try:
                return await self._reader.receive()
            except PermissionError:  # a regular file cannot be waited for, and need not be
                self._pollable = False
        return await anyio.to_thread.run_sync(os.read, self._reading, READ_BYTES, abandon_on_cancel=True)


class SharedWriter(ByteSendStream):
    """Writes to a descriptor whose flags must not be changed, since the parent process may share them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unsent: deque[memoryview] = deque()
        self._turn = anyio.Lock(fast_acquire=True)
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    async def send(self, item: bytes) -> None:
        self._unsent.append(memoryview(item))
        async with self._turn:
            try:
                await self._write()
            except OSError as error:
                self._unsent.clear()
                raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Nothing to do: the caller closes the descriptor."""

    async def _write(self) -> None:
        while self._unsent:
            rest = self._unsent[0]
            while rest:
                if not self._room.poll(0):
                    await anyio.wait_writable(self._descriptor)
                # A pipe that is ready accepts this much without blocking; more is not guaranteed.
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF]) :]
                self._unsent[0] = rest
            self._unsent.popleft()


def _writer(descriptor: int) -> ByteSendStream:
    """On Linux a pipe can be opened again, with its own flags; then large messages are sent in large pieces."""
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return PipeWriter(os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        pass
    return SharedWriter(descriptor)


@contextmanager
def standard_streams() -> Iterator[tuple[int, int]]:
    """Private descriptors of stdin and stdout, for the duration of the block.

    Enter it before an event loop is created, whose descriptors could get the number of a missing stdin or stdout.

    Raises:
        ConnectionLost: the process was started without one of them.
    """
    with _set_aside(0) as reading, _set_aside(1) as writing:
        yield reading, writing


@contextmanager
def _set_aside(descriptor: int) -> Iterator[int]:
    """A private copy of a standard descriptor, while `print`, `input` and child processes get a replacement."""
    try:
        private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError as error:
        raise ConnectionLost(f"{('stdin', 'stdout')[descriptor]} is closed.") from error
    try:
        _divert(descriptor)
        yield private
    finally:
        if descriptor == 1:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
        os.dup2(private, descriptor)
        os.close(private)


def _divert(descriptor: int) -> None:
    if descriptor == 0:
        harmless = os.open(os.devnull, os.O_RDONLY)
    else:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
        harmless = _stderr()
    os.dup2(harmless, descriptor)
    os.close(harmless)


def _stderr() -> int:
    try:
        return os.dup(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
