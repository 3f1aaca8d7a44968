"""One HTTP/1.1 connection to a server, for one request at a time."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import AsyncIterator

import anyio
import h11
import httpx2
from anyio.abc import ByteStream, SocketAttribute

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 30.0  # for the server to accept a piece of a request
PIECE = 16 * 1024  # bytes of a request that are sent with one timeout
UNSENT = (
    8 * PIECE
)  # bytes unsent in the kernel's buffer, at most: with more, a slow connection would look like a dead one
HEAD_LIMIT = 100 * 1024  # bytes of the head of a response
CHUNK = 64 * 1024  # bytes read at once
FAREWELL_SECONDS = 1.0  # for closing it

BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
"""The exceptions of a stream that breaks off; those of TLS are subclasses of OSError."""


class Unanswered(httpx2.ReadError):
    """The connection ended before the first byte of the response."""


class HttpConnection:
    """Made by `connect`. It raises the exceptions of httpx2."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream, self._state = stream, h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
        self._socket = stream.extra(SocketAttribute.raw_socket)
        self._is_answered = False

    @property
    def is_over(self) -> bool:
        """Whether the server closed it while it was idle: it is readable, though no request is pending."""
        number = self._socket.fileno()
        if number < 0:
            return True
        if not hasattr(select, "poll"):  # Windows, where `select` takes any descriptor
            return bool(select.select([number], [], [], 0)[0])
        poll = select.poll()
        poll.register(number, select.POLLIN)
        return bool(poll.poll(0))

    async def ask(self, request: httpx2.Request) -> h11.Response:
        """Send a request, in one write if it is short; returns the head of the response.

        Raises:
            Unanswered: the connection ended before a response.
            httpx2.TransportError: any other failure.
        """
        content = await request.aread()
        try:
            head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            parts = (head, h11.Data(content), h11.EndOfMessage()) if content else (head, h11.EndOfMessage())
            data = b"".join([self._state.send(part) or b"" for part in parts])
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        self._is_answered = False
        await self._write(data)
        while not isinstance(event := await self._next(), h11.Response):
            pass  # an informational response (1xx)
        return event

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    def ready(self) -> bool:
        """Prepare it for another request; False if it cannot be reused."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        self._state.start_next_cycle()
        return True

    async def aclose(self) -> None:
        """Close it, with a timeout, even if the caller is being cancelled."""
        with anyio.move_on_after(FAREWELL_SECONDS, shield=True):
            await self._stream.aclose()

    async def _write(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), PIECE):
                with anyio.fail_after(WRITE_SECONDS):
                    await self._stream.send(data[start : start + PIECE])
        except TimeoutError as error:
            raise httpx2.WriteTimeout("the server does not read") from error
        except BROKEN:
            pass  # the server may have sent a response before it closed the connection

    async def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                self._state.receive_data(await self._read())
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        return event

    async def _read(self) -> bytes:
        try:
            data = await self._stream.receive(CHUNK)
        except anyio.EndOfStream as error:
            if not self._is_answered:
                raise Unanswered("the server closed the connection") from error
            return b""
        except BROKEN as error:
            raise (httpx2.ReadError if self._is_answered else Unanswered)(str(error)) from error
        self._is_answered = True
        return data


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> HttpConnection:
    """Raises httpx2.ConnectError or httpx2.ConnectTimeout."""
    try:
        with anyio.fail_after(CONNECT_SECONDS):
            stream: ByteStream = (
                await anyio.connect_tcp(host, port, ssl_context=tls, tls_standard_compatible=False)
                if tls
                else await anyio.connect_tcp(host, port)
            )
    except TimeoutError as error:
        raise httpx2.ConnectTimeout("the server does not take the connection") from error
    except (OSError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise httpx2.ConnectError(str(error)) from error
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        stream.extra(SocketAttribute.raw_socket).setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
    return HttpConnection(stream)
