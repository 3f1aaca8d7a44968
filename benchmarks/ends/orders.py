"""The orders of a measured client: each is a line on stdin; its times in seconds are a line on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio
import anyio.to_thread
from mcp_types import TextContent


class Caller(Protocol):
    """A connected client. It checks its results, so that no failing call is timed."""

    async def echo(self) -> None: ...

    async def large(self, size: int) -> None: ...

    async def list_tools(self) -> None: ...


Connect = Callable[[], AbstractAsyncContextManager[Caller]]


def text_of(content: Sequence[object]) -> str:
    """The text of a result that has exactly one text block."""
    [block] = content
    assert isinstance(block, TextContent)
    return block.text


async def obey(connect: Connect) -> None:
    """Execute orders until stdin ends, such as `{"what": "echo", "size": 1, "times": 100}`."""
    async with connect() as caller:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            order = json.loads(line)
            run = ORDERS[order["what"]]
            seconds = [await run(connect, caller, order["size"]) for _ in range(order["times"])]
            sys.stdout.write(json.dumps(seconds) + "\n")
            sys.stdout.flush()


async def _echo(connect: Connect, caller: Caller, size: int) -> float:
    started = time.perf_counter()
    await caller.echo()
    return time.perf_counter() - started


async def _burst(connect: Connect, caller: Caller, size: int) -> float:
    """`size` calls in flight at once."""
    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(size):
            tasks.start_soon(caller.echo)
    return time.perf_counter() - started


async def _large(connect: Connect, caller: Caller, size: int) -> float:
    started = time.perf_counter()
    await caller.large(size)
    return time.perf_counter() - started


async def _spawn(connect: Connect, caller: Caller, size: int) -> float:
    """Open a new connection, up to the first result; closing it is not timed."""
    started = time.perf_counter()
    async with connect() as another:
        await another.list_tools()
        return time.perf_counter() - started


ORDERS: Mapping[str, Callable[[Connect, Caller, int], Awaitable[float]]] = {
    "echo": _echo,
    "burst": _burst,
    "large": _large,
    "spawn": _spawn,
}
