"""Sends a person to the sign-in page and receives the redirect: question, browser and local HTTP listener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import ByteStream, SocketListener

from agent.chat.questions import Answer, FillForm, OpenUrl
from agent.host.browser import OpenPage
from agent.host.oauth.errors import declined, failed, port_taken
from agent.host.web_addresses import UnsafeAddress, read_address
from agent.mcp.background import background
from agent.mcp.exchange import excerpt

LOGIN_SECONDS = 600.0  # for a person to sign in
REQUEST_SECONDS, REQUEST_LIMIT = 5.0, 16 * 1024  # for a browser to send its request; bytes
RETRY_SECONDS = 0.05  # before the next accept, after one that failed
VISITORS = 100  # concurrent connections; further ones wait
PATH = "/callback"
BRING = "Open this page, and bring back the address that it ends at."
NOT_IT = "That is not the address that this page ends at, or not all of it."

Ask = Callable[[OpenUrl | FillForm], Awaitable[Answer]]


@dataclass(slots=True, eq=False)
class Redirect:
    """`uri` is the redirect URI; `visit` sends the person to a page and returns the URL of the redirect."""

    uri: str
    visit: Callable[[str], Awaitable[str]]


Redirecting = Callable[[int | None], AbstractAsyncContextManager[Redirect]]
"""Opens a Redirect, on the given port if one is registered."""


@dataclass(frozen=True, slots=True)
class Browsing:
    """Sends the person to the pages for signing in to `server`. `pausing` is entered as long as that takes."""

    server: str
    ask: Ask
    open_page: OpenPage
    pausing: Callable[[], AbstractContextManager[None]] = nullcontext

    @asynccontextmanager
    async def redirecting(self, port: int | None = None) -> AsyncIterator[Redirect]:
        """
        Raises:
            SignInFailed: the port is not available, or, from `visit`, the person did not complete the sign-in.
        """
        callback = _Callback()
        try:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port or 0)
        except OSError as error:
            raise (port_taken(self.server, port, error) if port else failed(self.server, error)) from error
        async with listener, background() as tasks:
            for each in listener.listeners:
                tasks.start_soon(callback.listen, cast("SocketListener", each))
            here = listener.extra(anyio.abc.SocketAttribute.local_port)
            uri = f"http://127.0.0.1:{here}{PATH}"

            async def visit(url: str) -> str:
                with self.pausing():
                    return await self._visit(url, uri, callback)

            yield Redirect(uri, visit)

    async def _visit(self, url: str, uri: str, callback: _Callback) -> str:
        try:
            address = read_address(url)
        except UnsafeAddress as unsafe:
            raise failed(self.server, f"the address of its page {unsafe}") from unsafe
        asked = parse_qs(urlsplit(url).query)
        callback.state = asked.get("state", [""])[0]
        scopes = excerpt(", ".join(asked.get("scope", [""])[0].split()))
        message = f"To sign in there, for {scopes}:" if scopes else "To sign in there:"
        answer = await self.ask(OpenUrl(self.server, message, url, address.place, address.warnings))
        if answer.verdict != "accept":
            raise declined(self.server, "you said no")
        opened = (answer.content or {}).get("open") is not False and await self.open_page(url)
        with anyio.move_on_after(LOGIN_SECONDS):
            return uri + "?" + await (callback.query() if opened else self._either(url, callback))
        raise declined(self.server, f"nobody came back from its page within {LOGIN_SECONDS / 60:.0f} minutes")

    async def _either(self, url: str, callback: _Callback) -> str:
        """Without a local browser, the person may open the page elsewhere and paste the redirect's URL here.

        The redirect or the pasted URL, whichever comes first, is used.
        """
        brought: list[str] = []

        async def bring() -> None:
            message = BRING
            while isinstance(address := await self._asked(f"{message}\n{url}"), str):
                query = address.strip().partition("?")[2].partition("#")[0]
                if callback.is_meant(query):
                    brought.append(query)
                    break
                message = NOT_IT
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bring)
            query = await callback.query()
            tasks.cancel_scope.cancel()
            return query
        if brought:
            return brought[0]
        raise declined(self.server, "you said no")

    async def _asked(self, message: str) -> object:
        """The URL that the person pastes; None if they decline."""
        answer = await self.ask(FillForm(self.server, message, FORM))
        return (answer.content or {}).get("address") if answer.verdict == "accept" else None


FORM = {
    "type": "object",
    "properties": {
        "address": {
            "type": "string",
            "title": "Address",
            "description": "It begins with http://127.0.0.1 and has a code in it. The page itself may not have loaded.",
        }
    },
    "required": ["address"],
}


@dataclass(slots=True, eq=False)
class _Callback:
    """Waits for the redirect with the right `state`; any other request is rejected."""

    state: str = ""
    _query: str = ""
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    async def query(self) -> str:
        await self._arrived.wait()
        return self._query

    def is_meant(self, query: str) -> bool:
        """Whether the query comes from the page the person was sent to, judged by the secret `state`."""
        return bool(self.state) and parse_qs(query).get("state") == [self.state]

    async def listen(self, listener: SocketListener) -> None:
        """Accept connections. Any local program can connect, repeatedly, and disconnect before it is served."""
        seats = anyio.Semaphore(VISITORS)

        async def serve(stream: ByteStream) -> None:
            try:
                await self.serve(stream)
            finally:
                seats.release()

        async with anyio.create_task_group() as tasks:
            while True:
                await seats.acquire()
                try:
                    stream = await listener.accept()
                except OSError:
                    seats.release()
                    await anyio.sleep(RETRY_SECONDS)
                else:
                    tasks.start_soon(serve, stream)

    async def serve(self, stream: ByteStream) -> None:
        """Serve one connection with one request."""
        async with stream:
            with anyio.move_on_after(REQUEST_SECONDS):
                try:
                    await stream.send(self._answer(await _request_line(stream)))
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    def _answer(self, line: str) -> bytes:
        method, _, target = line.partition(" ")
        try:
            parts = urlsplit(target.partition(" ")[0])
        except ValueError:
            return _page("400 Bad Request", "This is no address.")
        if method != "GET" or parts.path != PATH:
            return _page("404 Not Found", "There is nothing here.")
        if not self.is_meant(parts.query):
            return _page("400 Bad Request", "This page does not belong to an attempt to sign in that is under way.")
        self._query = self._query or parts.query
        self._arrived.set()
        return _page("200 OK", "You can close this page and go back to mcp-chat.")


async def _request_line(stream: ByteStream) -> str:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < REQUEST_LIMIT:
        head += await stream.receive()
    return head.partition(b"\r\n")[0].decode("latin-1")


def _page(status: str, sentence: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>mcp-chat</title><p>{sentence}\n".encode()
    lines = (
        f"HTTP/1.1 {status}",
        "content-type: text/html; charset=utf-8",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "content-security-policy: default-src 'none'",
        "connection: close",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
