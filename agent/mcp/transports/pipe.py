"""The two ends of a pipe: neither blocks the event loop, neither costs more rounds of it than it must.

A message takes microseconds to make sense of, so what is done for each of them counts. The reader stays known to the
loop from one message to the next: `anyio.wait_readable`, which enters and strikes out the descriptor every time, takes
longer than reading it. The writer writes at once as much as the pipe takes, which is nearly always everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

if sys.platform == "linux":
    from fcntl import F_SETPIPE_SZ, fcntl

READ_BYTES = 64 * 1024  # most messages are far smaller, and a larger buffer would be mapped anew for each of them
LARGE_BYTES = 1024 * 1024  # what is read at once of a large message, and what a pipe of ours holds if it may
FLUSH_SECONDS = 0.4  # for what is still to be written when it is closed


class PipeReader(ByteReceiveStream):
    """Owns the descriptor, which must be one that the loop can wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._most = READ_BYTES
        self._piece: bytes | None = None  # read and not yet fetched; empty at the end
        self._news: asyncio.Future[None] | None = None
        self._watching = self._closed = False

    async def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """What was read, in one piece, whatever `max_bytes` says.

        Raises:
            EndOfStream: the other end is closed.
            ClosedResourceError: this one is.
            PermissionError: the loop cannot wait for this kind of file.
        """
        while self._piece is None and not self._closed:
            self._watch()
            self._news = self._loop.create_future()
            await self._news
        if self._closed:
            raise anyio.ClosedResourceError
        if not self._piece:
            raise anyio.EndOfStream
        piece, self._piece = self._piece, None
        return piece

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._ignore()
            os.close(self._descriptor)
            self._wake()

    def _read(self) -> None:
        if self._piece is not None:  # nobody fetched the last one: let the other side wait
            self._ignore()
            return
        try:
            self._piece = os.read(self._descriptor, self._most)
        except BlockingIOError:  # someone who shares it was faster
            return
        except OSError:  # a terminal that went away
            self._piece = b""
        self._most = LARGE_BYTES if len(self._piece) >= READ_BYTES else READ_BYTES
        if not self._piece:
            self._ignore()
        self._wake()

    def _wake(self) -> None:
        if self._news and not self._news.done():
            self._news.set_result(None)

    def _watch(self) -> None:
        if not self._watching:
            self._loop.add_reader(self._descriptor, self._read)
            self._watching = True

    def _ignore(self) -> None:
        if self._watching:
            self._loop.remove_reader(self._descriptor)
            self._watching = False


def large_pipe() -> tuple[int, int]:
    """A pipe, to read and to write; where it can be had, one that takes a large message in few turns of both sides."""
    reading, writing = os.pipe()
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # this user has as many large pipes as the system lets them
            fcntl(writing, F_SETPIPE_SZ, LARGE_BYTES)
    return reading, writing


class PipeWriter(ByteSendStream):
    """Owns the descriptor, which must be the only one of its end of the pipe: it is set to non-blocking."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._unsent: deque[memoryview] = deque()
        self._turn = anyio.Lock()
        self._closed = False

    async def send(self, item: bytes) -> None:
        """Taken over whole before the first wait: cancelled in the middle, the rest goes out before what comes next."""
        if self._closed:
            raise anyio.ClosedResourceError
        self._unsent.append(memoryview(item))
        self._write()
        if self._unsent:
            await self._flush()

    async def aclose(self) -> None:
        """Write what is left, if the other side takes it within a bound, and close."""
        if self._closed:
            return
        self._closed = True
        try:
            with anyio.move_on_after(FLUSH_SECONDS):
                await self._flush()
        except anyio.BrokenResourceError:
            pass
        finally:
            anyio.notify_closing(self._descriptor)
            os.close(self._descriptor)

    async def _flush(self) -> None:
        async with self._turn:
            while self._unsent:
                await anyio.wait_writable(self._descriptor)
                self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                written = os.write(self._descriptor, self._unsent[0])
                if written < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][written:]
                else:
                    self._unsent.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            self._unsent.clear()
            raise anyio.BrokenResourceError from error
