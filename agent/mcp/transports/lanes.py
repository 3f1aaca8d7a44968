"""One connection for each request in flight, kept for the next, and one packet for each request.

The pool of httpx2 looks at every connection whenever one comes or goes, and sends head and body apart. With many calls
at once that is most of what a call costs. This one keeps idle connections on a stack, the warmest on top.
"""

from __future__ import annotations

import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import httpcore2
import httpx2

Lane = httpcore2.AsyncHTTPConnection

IDLE_SECONDS = 30.0
IDLE_LANES = 128  # to one server
FAREWELL_SECONDS = 1.0  # for closing what is idle
HELD = 64 * 1024  # bytes of a request that may wait for more of it
CORE_FAULTS = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)


class Lanes(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._network = _Network()
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[str, deque[tuple[float, Lane]]] = defaultdict(deque)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url, headers = request.url, request.headers.raw
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore2.Request(
            request.method, target, headers=headers, content=request.stream, extensions=request.extensions
        )
        lane = await self._take(target.origin)
        with _faults_of_httpx():
            response = await lane.handle_async_request(sent)
        body = _Body(self, target.origin, lane, response)
        return httpx2.Response(response.status, headers=response.headers, stream=body, extensions=response.extensions)

    async def aclose(self) -> None:
        """All of them, even if whoever leaves is being cancelled."""
        with anyio.move_on_after(FAREWELL_SECONDS, shield=True):
            for idle in self._idle.values():
                while idle:
                    await idle.pop()[1].aclose()

    async def _take(self, origin: httpcore2.Origin) -> Lane:
        idle = self._idle[str(origin)]
        while idle:
            _, lane = idle.pop()
            if not lane.has_expired():
                return lane
            await lane.aclose()
        if origin.scheme == b"https" and self._tls is None:
            self._tls = httpx2.create_ssl_context()  # it reads every certificate, so only who needs it pays
        return httpcore2.AsyncHTTPConnection(origin, self._tls, IDLE_SECONDS, network_backend=self._network)

    async def give_back(self, origin: httpcore2.Origin, lane: Lane) -> None:
        idle, now = self._idle[str(origin)], time.monotonic()
        if lane.is_available():
            idle.append((now, lane))
        while idle and (len(idle) > IDLE_LANES or idle[0][0] + IDLE_SECONDS < now):
            await idle.popleft()[1].aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of a response, which gives its connection back when it is closed."""

    def __init__(self, lanes: Lanes, origin: httpcore2.Origin, lane: Lane, response: httpcore2.Response) -> None:
        self._lanes, self._origin, self._lane, self._response = lanes, origin, lane, response
        assert isinstance(response.stream, AsyncIterable)
        self._parts = response.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _faults_of_httpx():
            async for part in self._parts:
                yield part

    async def aclose(self) -> None:
        with anyio.move_on_after(FAREWELL_SECONDS, shield=True):
            await self._response.aclose()
            await self._lanes.give_back(self._origin, self._lane)


@contextmanager
def _faults_of_httpx() -> Iterator[None]:
    """The two libraries name the same faults alike."""
    try:
        yield
    except CORE_FAULTS as error:
        fault: type[httpx2.TransportError] = getattr(httpx2, type(error).__name__)
        raise fault(str(error)) from error


class _Network(httpcore2.AnyIOBackend):
    async def connect_tcp(self, *where: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _Held(await super().connect_tcp(*where, **how))


class _Held(httpcore2.AsyncNetworkStream):
    """Holds back what is written until an answer is waited for."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._written = bytearray()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._written += buffer
        if len(self._written) > HELD:
            await self._send(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._written:
            with suppress(httpcore2.WriteError):  # it hung up on the request, and may have said why
                await self._send(timeout)
        return await self._stream.read(max_bytes, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _Held(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    async def _send(self, timeout: float | None) -> None:
        written, self._written = bytes(self._written), bytearray()
        await self._stream.write(written, timeout)
