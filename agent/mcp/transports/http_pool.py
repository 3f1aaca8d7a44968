"""A connection pool that sends a short request in one packet, and reuses connections.

The pool of httpx2 scans all connections whenever one is taken or returned, and sends head and body separately; with
many concurrent calls that is most of the cost of a call. This pool takes the idle connection that was used last.
"""

from __future__ import annotations

import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator

import httpx2

from agent.mcp.transports.http_connection import HttpConnection, Unanswered, connect
from agent.mcp.transports.http_faults import Misconfigured

IDLE_SECONDS = 30.0
IDLE_KEPT = 128  # to one server
CLOSING_SECONDS = 1.0  # in which a failure means that the server closed the idle connection as it was reused
PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]
"""Scheme, host and port."""


class HttpPool(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[Origin, deque[tuple[float, HttpConnection]]] = defaultdict(deque)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; once more if an idle connection ends at once without a response: the server did not read it.

        If the connection ends later, the request may have crashed the server, and must not be sent twice.
        """
        url = request.url
        origin = url.scheme, url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]
        if idle := await self._take(origin):
            began = time.monotonic()
            try:
                return await self._ask(origin, idle, request)
            except Unanswered:
                if time.monotonic() > began + CLOSING_SECONDS:
                    raise
        return await self._ask(origin, await self._connect(origin), request)

    async def aclose(self) -> None:
        for idle in self._idle.values():
            while idle:
                await idle.pop()[1].aclose()

    async def give_back(self, origin: Origin, connection: HttpConnection) -> None:
        idle, now = self._idle[origin], time.monotonic()
        if connection.ready():
            idle.append((now, connection))
        else:
            await connection.aclose()
        while idle and (len(idle) > IDLE_KEPT or idle[0][0] + IDLE_SECONDS < now):
            await idle.popleft()[1].aclose()

    async def _ask(self, origin: Origin, connection: HttpConnection, request: httpx2.Request) -> httpx2.Response:
        try:
            head = await connection.ask(request)
        except BaseException:
            await connection.aclose()
            raise
        return httpx2.Response(head.status_code, headers=list(head.headers), stream=_Body(self, origin, connection))

    async def _take(self, origin: Origin) -> HttpConnection | None:
        """The most recently used idle connection that the server has not closed."""
        idle, oldest = self._idle[origin], time.monotonic() - IDLE_SECONDS
        while idle:
            since, connection = idle.pop()
            if since > oldest and not connection.is_over:
                return connection
            await connection.aclose()
        return None

    async def _connect(self, origin: Origin) -> HttpConnection:
        scheme, host, port = origin
        return await connect(host, port, self._context() if scheme == "https" else None)

    def _context(self) -> ssl.SSLContext:
        """Created once, on first use, because it loads every certificate."""
        if self._tls is None:
            try:
                self._tls = httpx2.create_ssl_context()
            except OSError as error:
                clause = f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used ({error})"
                raise Misconfigured(clause) from error
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Body(httpx2.AsyncByteStream):
    """The body of a response, which returns its connection to the pool when it is closed."""

    def __init__(self, pool: HttpPool, origin: Origin, connection: HttpConnection) -> None:
        self._pool, self._origin, self._connection = pool, origin, connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body()

    async def aclose(self) -> None:
        await self._pool.give_back(self._origin, self._connection)
