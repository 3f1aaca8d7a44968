"""A server as a child process: one JSON message per line on its stdin and stdout (section "Transports, stdio")."""

from __future__ import annotations

import os
import shlex
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import ObjectStream

from agent.mcp.background import background
from agent.mcp.envelope import Channel, ConnectionLost, Envelope, Garbled
from agent.mcp.framing import LINE_LIMIT, Lines, to_line
from agent.mcp.transports.child import Child, spawn
from agent.mcp.transports.reentrant import ReentrantTransport

READ_BYTES = 256 * 1024
STDERR_BYTES = 16 * 1024  # of the end of stderr that are kept
LAST_WORDS_SECONDS = 1.0  # for the remaining output of a server that has exited


def stdio(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    line_limit: int = LINE_LIMIT,
) -> StdioTransport:
    """A transport that starts a server and talks to it over its stdin and stdout.

    `env` is added to a few inherited variables (PATH, HOME, LANG and the like); others are not inherited. `line_limit`
    is the longest message read, in bytes.

    Raises, on entering it:
        ConnectionLost: the command could not be started.
    """
    if not command:
        raise ValueError("a command needs at least the name of a program")
    return StdioTransport(command, env, cwd, line_limit)


@dataclass(frozen=True, slots=True)
class Noise:
    """Lines on a server's stdout that are not messages: their number, and the beginning of the last."""

    count: int = 0
    last: str = ""


class StdioTransport(ReentrantTransport):
    """Made by `stdio`. Each time it is entered, the server is started again."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        line_limit: int,
    ) -> None:
        self._command, self._env, self._cwd, self._line_limit = tuple(command), env, cwd, line_limit
        self._pipes: _Pipes | None = None

    @property
    def key(self) -> str:
        """The command line, as a shell would read it."""
        return shlex.join(self._command)

    @property
    def stderr_tail(self) -> str:
        """The end of what the server wrote on stderr."""
        return self._pipes.stderr_tail if self._pipes else ""

    @property
    def noise(self) -> Noise:
        """Its output on stdout that is not a message."""
        return self._pipes.noise if self._pipes else Noise()

    @property
    def exit_reason(self) -> str:
        """A sentence on how the server last exited by itself; empty if it never did."""
        return self._pipes.exit_reason if self._pipes else ""

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[Channel]:
        child = await spawn(self._command, self._env, self._cwd)
        self._pipes = pipes = _Pipes(child, Lines(self._line_limit), self.exit_reason)
        try:
            async with background() as tasks:
                tasks.start_soon(pipes.keep_stderr)
                tasks.start_soon(pipes.watch)
                yield pipes
        finally:
            with anyio.CancelScope(shield=True):
                async with background() as tasks:
                    tasks.start_soon(pipes.keep_stderr)
                    tasks.start_soon(pipes.discard_stdout)
                    await child.end()
                await child.close()


class _Pipes(ObjectStream[Any]):
    def __init__(self, child: Child, lines: Lines, exit_reason: str) -> None:
        self._child, self._lines, self.exit_reason = child, lines, exit_reason
        self._read: deque[Envelope | Garbled] = deque()
        self._received = 0
        self._stderr = bytearray()
        self._stderr_ended = anyio.Event()
        self._heard = False
        self.noise = Noise()

    @property
    def stderr_tail(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    async def send(self, item: Envelope) -> None:
        """The line is queued whole before the first await, so that cancellation never leaves an incomplete one."""
        await self._child.stdin.send(to_line(item))

    async def receive(self) -> Envelope | Garbled:
        while not self._read:
            self._read.extend(await self._read_more())
        item = self._read.popleft()
        if isinstance(item, Garbled):
            self.noise = Noise(self.noise.count + 1, item.excerpt)
        else:
            self._heard = True
        return item

    async def send_eof(self) -> None:
        await self._child.stdin.aclose()

    async def aclose(self) -> None:
        await self.send_eof()

    async def keep_stderr(self) -> None:
        """Read stderr from the start: a server blocks when its stderr pipe is full."""
        async for piece in self._child.stderr:
            self._stderr += piece
            del self._stderr[:-STDERR_BYTES]
        self._stderr_ended.set()

    async def discard_stdout(self) -> None:
        """Read and discard stdout during shutdown, so that a server that still writes does not block."""
        with suppress(anyio.ClosedResourceError):
            async for _ in self._child.stdout:
                pass

    async def watch(self) -> None:
        """End the connection when the process exits, even if a child process of it keeps stdout open."""
        await self._child.wait()
        seen = -1
        while seen != self._received:
            seen = self._received
            await anyio.sleep(LAST_WORDS_SECONDS)
        await self._child.stdout.aclose()
        await self._child.sweep()

    async def _read_more(self) -> list[Envelope | Garbled]:
        try:
            data = await self._child.stdout.receive(READ_BYTES)
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            if rest := self._lines.end():
                return rest
            raise ConnectionLost(await self._obituary()) from None
        self._received += len(data)
        return self._lines.feed(data)

    async def _obituary(self) -> str:
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            await self._child.wait()
            await self._stderr_ended.wait()
        self.exit_reason = self._child.obituary(self._heard, self.stderr_tail)
        return self.exit_reason
