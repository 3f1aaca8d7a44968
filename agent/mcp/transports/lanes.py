"""One connection for each request in flight, kept for the next: a pool whose cost does not grow with its size.

The pool of httpx2 looks at every connection whenever one comes or goes, which with 64 calls at once is most of the
time. Here each connection is a pool of one; what is idle lies on a stack, the warmest on top.
"""

from __future__ import annotations

import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

import httpx2

IDLE_SECONDS = 30.0


class Lanes(httpx2.AsyncBaseTransport):
    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._idle: deque[tuple[float, httpx2.AsyncHTTPTransport]] = deque()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self._retire(time.monotonic() - IDLE_SECONDS)
        lane = self._idle.pop()[1] if self._idle else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            await lane.aclose()
            raise
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Returning(response.stream, lambda: self._give_back(lane))
        return response

    async def aclose(self) -> None:
        await self._retire(time.monotonic())

    def _new(self) -> httpx2.AsyncHTTPTransport:
        only_one = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_SECONDS)
        return httpx2.AsyncHTTPTransport(verify=self._tls, limits=only_one)

    def _give_back(self, lane: httpx2.AsyncHTTPTransport) -> None:
        self._idle.append((time.monotonic(), lane))

    async def _retire(self, deadline: float) -> None:
        while self._idle and self._idle[0][0] <= deadline:
            await self._idle.popleft()[1].aclose()


class _Returning(httpx2.AsyncByteStream):
    """A body that gives its connection back when it is closed."""

    def __init__(self, body: httpx2.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._body, self._give_back = body, give_back

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._body)

    async def aclose(self) -> None:
        await self._body.aclose()
        self._give_back()


def tls_for(url: httpx2.URL) -> ssl.SSLContext:
    """Reading the certificates takes a while, so only who needs them does."""
    return httpx2.create_ssl_context(verify=url.scheme == "https")
