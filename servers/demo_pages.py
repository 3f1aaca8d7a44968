"""Web pages on this machine for URL mode elicitation; each is finished by pressing its button.

A real server would send the user to its own web site. What is typed there reaches neither the client nor its model.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Any

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

HOST = "127.0.0.1"
LONGEST_REQUEST = 16_384  # bytes
REQUEST_SECONDS = 10.0

_HEAD = "<!doctype html><meta charset=utf-8><title>Demo</title><body style='font:18px sans-serif;margin:4em'>"
_ASK = "<h1>{title}</h1><form method=post><button>Agree</button></form>"
_DONE = "<h1>Done.</h1><p>You can close this page.</p>"
_GONE = "<h1>There is no such page.</h1>"


class Pages:
    """The pages, served once the first is opened. Created by `pages`."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks, self._address = tasks, ""
        self._titles: dict[str, str] = {}
        self._finished: dict[str, anyio.Event] = {}

    async def open(self, title: str) -> str:
        """Open a new page. Returns its URL, which cannot be guessed."""
        if not self._address:
            listener = await anyio.create_tcp_listener(local_host=HOST, local_port=0)
            self._address = f"http://{HOST}:{listener.extra(SocketAttribute.local_port)}"
            self._tasks.start_soon(self._listen, listener)
        path = f"/{secrets.token_urlsafe(12)}"
        self._titles[path], self._finished[path] = title, anyio.Event()
        return self._address + path

    async def finished(self, url: str, seconds: float) -> bool:
        """Whether the user presses the button within that time."""
        finished = self._finished.get(url.removeprefix(self._address))
        with anyio.move_on_after(seconds):
            if finished:
                await finished.wait()
        return finished is not None and finished.is_set()

    async def _listen(self, listener: Listener[SocketStream]) -> None:
        async with listener:
            await listener.serve(self._serve, self._tasks)

    async def _serve(self, browser: SocketStream) -> None:
        async with browser:
            with anyio.move_on_after(REQUEST_SECONDS):
                try:
                    head = await BufferedByteReceiveStream(browser).receive_until(b"\r\n\r\n", LONGEST_REQUEST)
                    await browser.send(self._answer(head))
                except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
                    return

    def _answer(self, head: bytes) -> bytes:
        method, path, *_ = [*head.split(b"\r\n")[0].decode("latin-1").split(" "), "", ""]
        if path not in self._titles:
            return _page("404 Not Found", _GONE)
        if method == "POST":
            self._finished[path].set()
        said = _DONE if self._finished[path].is_set() else _ASK.format(title=escape(self._titles[path]))
        return _page("200 OK", said)


@asynccontextmanager
async def pages(server: Any) -> AsyncIterator[Pages]:
    """The lifespan of a server that has pages."""
    async with anyio.create_task_group() as tasks:
        yield Pages(tasks)
        tasks.cancel_scope.cancel()


def _page(status: str, body: str) -> bytes:
    said = (_HEAD + body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n"
    return head.encode() + said
