"""An ASGI app in this process behind httpx2, streaming both ways: httpx2's own bridge waits for whole responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from anyio.abc import TaskGroup

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Bridge(httpx2.AsyncBaseTransport):
    """`seen` are the requests that crossed it, in order."""

    def __init__(self, app: App, tasks: TaskGroup) -> None:
        self._app, self._tasks = app, tasks
        self.seen: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        crossing = _Crossing(request, await request.aread())
        self._tasks.start_soon(crossing.run, self._app)
        try:
            await crossing.started.wait()
        except anyio.get_cancelled_exc_class():
            await crossing.aclose()
            raise
        return httpx2.Response(crossing.status, headers=crossing.headers, stream=crossing)


class _Crossing(httpx2.AsyncByteStream):
    """One request and its response; the response's body is this."""

    def __init__(self, request: httpx2.Request, body: bytes) -> None:
        self._request, self._body, self._body_given = request, body, False
        self.started, self._left = anyio.Event(), anyio.Event()
        self.status, self.headers = 500, list[tuple[bytes, bytes]]()
        self._out, self._in = anyio.create_memory_object_stream[bytes](8)

    async def run(self, app: App) -> None:
        try:
            async with self._out:
                await app(self._scope(), self._receive, self._send)
        finally:
            self.started.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._in:
            yield chunk

    async def aclose(self) -> None:
        self._left.set()
        self._in.close()

    async def _receive(self) -> Scope:
        if not self._body_given:
            self._body_given = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Scope) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message["headers"]
            self.started.set()
        elif body := message.get("body"):
            try:
                await self._out.send(body)
            except anyio.BrokenResourceError:  # a server may go on speaking to who has left
                await anyio.lowlevel.checkpoint()

    def _scope(self) -> Scope:
        url = self._request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "client": ("127.0.0.1", 50_000),
            "server": (url.host, url.port),
        }


@asynccontextmanager
async def bridge(app: App) -> AsyncIterator[Bridge]:
    """The app as a network of its own, with its lifespan run; whatever it still does is cancelled in the end."""
    async with anyio.create_task_group() as tasks:
        up, down, ended = anyio.Event(), anyio.Event(), anyio.Event()
        tasks.start_soon(_live, app, up, down, ended)
        await up.wait()
        yield Bridge(app, tasks)
        down.set()
        with anyio.move_on_after(5):
            await ended.wait()
        tasks.cancel_scope.cancel()


async def _live(app: App, up: anyio.Event, down: anyio.Event, ended: anyio.Event) -> None:
    begun = False

    async def receive() -> Scope:
        nonlocal begun
        if begun:
            await down.wait()
            return {"type": "lifespan.shutdown"}
        begun = True
        return {"type": "lifespan.startup"}

    async def send(message: Scope) -> None:
        assert not message["type"].endswith("failed"), message
        up.set()

    try:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    finally:
        up.set()
        ended.set()
