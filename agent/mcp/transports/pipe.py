"""Non-blocking reading and writing of pipes, with as few iterations of the event loop as possible.

Parsing a message takes microseconds, so the overhead for each one matters. The reader stays registered with the event
loop between messages: `anyio.wait_readable`, which registers and unregisters the descriptor every time, takes longer
than the read. The writer writes at once as much as the pipe accepts, which is nearly always everything.
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

READ_BYTES = 64 * 1024  # most messages are far smaller, and a larger buffer would be mapped by the system for each read
LARGE_BYTES = 1024 * 1024  # bytes of one read of a large message, and the capacity of our own pipes, if permitted
FLUSH_SECONDS = 0.4  # for unsent data when it is closed


class PipeReader(ByteReceiveStream):
    """Owns the descriptor, which must be one that the event loop can wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._most = READ_BYTES
        self._piece: bytes | None = None  # read and not yet fetched; empty at the end
        self._news: asyncio.Future[None] | None = None
        self._watching = self._closed = False

    async def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """The bytes of one read, regardless of `max_bytes`.

        Raises:
            EndOfStream: the other end is closed.
            ClosedResourceError: this end is closed.
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
        if self._piece is not None:  # the last one was not fetched yet: stop reading, so that the other side waits
            self._ignore()
            return
        try:
            self._piece = os.read(self._descriptor, self._most)
        except BlockingIOError:  # another reader of the same pipe was faster
            return
        except OSError:  # a terminal that was closed
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
    """The read and the write end of a pipe, with a large buffer if possible: large messages then need few writes."""
    reading, writing = os.pipe()
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # the user's limit for pipe buffers is reached
            fcntl(writing, F_SETPIPE_SZ, LARGE_BYTES)
    return reading, writing


class PipeWriter(ByteSendStream):
    """Owns the descriptor, which must not share its end of the pipe with others: it is set to non-blocking."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._unsent: deque[memoryview] = deque()
        self._turn = anyio.Lock()
        self._closed = False

    async def send(self, item: bytes) -> None:
        """Queued whole before the first await: if cancelled, the rest is still sent, before the next item."""
        if self._closed:
            raise anyio.ClosedResourceError
        self._unsent.append(memoryview(item))
        self._write()
        if self._unsent:
            await self._flush()

    async def aclose(self) -> None:
        """Write the unsent data, with a timeout, and close."""
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
