"""Servers behind a real uvicorn on this machine: ours, the official SDK's, and answers that are none."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

App = Callable[[Any, Any, Any], Awaitable[None]]


class Seat(BaseModel):
    place: str


class Embedded(uvicorn.Server):
    """One that leaves the signals of its process alone.

    Of two that end in the order in which they began, the first would stay the one to hear of a signal, and whoever
    asks it whether the process ends would be told so from then on.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Peer:
    """A server that runs; `address` has no path."""

    def __init__(self, app: App, listening: socket.socket) -> None:
        self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._listening = listening
        self._server = Embedded(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1))
        self._stopped = anyio.Event()

    async def run(self) -> None:
        await self._server.serve([self._listening])
        self._stopped.set()

    async def stop(self) -> None:
        self._server.should_exit = True
        await self._stopped.wait()


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[Peer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            peer = Peer(app, listening)
            tasks.start_soon(peer.run)
            yield peer
            await peer.stop()


@asynccontextmanager
async def served(app: App) -> AsyncIterator[str]:
    """The address of `app`, without a path."""
    async with serving(app) as peer:
        yield peer.address


def answering(status: int, body: bytes, **headers: str) -> App:
    """Always the same answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": listed})
        await send({"type": "http.response.body", "body": body})

    return app


def official_app(*, sse: bool = False) -> App:
    """The official SDK's server, with a tool that tells its progress and one that asks the person."""
    server = MCPServer("official")

    @server.tool()
    async def add(a: int, b: int, ctx: Context) -> int:
        await ctx.report_progress(1, 2, "adding")
        return a + b

    @server.tool()
    async def book(ctx: Context) -> str:
        answer: Any = await ctx.elicit("Where?", Seat)
        return f"{answer.action}: {answer.data.place if answer.action == 'accept' else ''}"

    @server.resource("text://hello")
    async def hello() -> str:
        return "Hello!"

    app: App = server.sse_app() if sse else server.streamable_http_app()
    return app
