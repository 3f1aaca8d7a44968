"""One connection for each request in flight, kept for the next, and one packet for each request.

The pool of httpx2 looks at every connection whenever one comes or goes, and sends head and body apart. With many calls
at once that is most of what a call costs. This one keeps idle connections on a stack, the warmest on top.
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
CLOSING_SECONDS = 1.0  # until it shows that the server closed an idle connection just as we used it
PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]
"""Scheme, host and port."""


class HttpPool(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[Origin, deque[tuple[float, HttpConnection]]] = defaultdict(deque)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """A request on an idle connection that ends at once, without a word, was never seen: it is sent once more.

        One that ends later may be the server's death over this very request, which is not to be done twice.
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
        """The warmest idle connection that the server has not closed."""
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
        """Made once, and only for those who need it: it reads every certificate."""
        if self._tls is None:
            try:
                self._tls = httpx2.create_ssl_context()
            except OSError as error:
                clause = f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used ({error})"
                raise Misconfigured(clause) from error
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Body(httpx2.AsyncByteStream):
    """The body of a response, which gives its connection back when it is closed."""

    def __init__(self, pool: HttpPool, origin: Origin, connection: HttpConnection) -> None:
        self._pool, self._origin, self._connection = pool, origin, connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body()

    async def aclose(self) -> None:
        await self._pool.give_back(self._origin, self._connection)
