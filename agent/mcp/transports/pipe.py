"""The write end of a pipe to a child process: it never blocks the event loop, and never tears a line.

It writes at once as much as the pipe takes, which is nearly always everything: a stream of the event loop would cost a
round of the loop for every line.
"""

from __future__ import annotations

import os
from collections import deque

import anyio
from anyio.abc import ByteSendStream

FLUSH_SECONDS = 0.4  # for what is still to be written when it is closed


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
