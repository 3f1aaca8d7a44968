"""HTTP requests to one server with one set of credentials; redirections are followed, errors become sentences."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

from agent.mcp.envelope import ConnectionLost
from agent.mcp.exchange import Head, Meaning, Moved, Refused, Unnamed, named, read_head, sniff
from agent.mcp.transports.http_connection import CONNECT_SECONDS, WRITE_SECONDS
from agent.mcp.transports.http_faults import Misconfigured, lost
from agent.mcp.transports.http_pool import HttpPool
from agent.mcp.version import NAME, VERSION

REDIRECTIONS = 5
SLOWEST = 16 * 1024  # bytes per second that a proxy has to accept at least; requests to it are sent in one write
Ask = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

OURS = {"user-agent": f"{NAME}/{VERSION}", "accept-encoding": "gzip, deflate"}


class Answer:
    """A response whose body is not read yet."""

    def __init__(self, head: Head, meaning: Meaning, response: httpx2.Response) -> None:
        self.head, self.meaning = head, meaning
        self._body = aiter(_body(response))
        self._begun: bytes | None = None

    async def sniffed(self) -> Meaning:
        """What it means, by its first bytes if the headers do not tell. Raises ConnectionLost."""
        if isinstance(self.meaning, Unnamed):
            self._begun = await anext(aiter(self.chunks()), b"")
            self.meaning = sniff(self._begun)
        return self.meaning

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Raises ConnectionLost where it breaks off."""
        if self._begun is not None:
            yield self._begun
        try:
            async for chunk in self._body:
                yield chunk
        except httpx2.HTTPError as error:
            raise lost(self.head.url, error) from error

    async def read(self, limit: int) -> bytes:
        """The body; of one longer than `limit` bytes, the chunks up to the one that exceeds it."""
        pieces, size = [], 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                pieces.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return b"".join(pieces)


def _body(response: httpx2.Response) -> AsyncIterable[bytes]:
    """The body, decoded by httpx2 only if it is encoded."""
    stream = response.stream
    if "content-encoding" in response.headers or not isinstance(stream, httpx2.AsyncByteStream):
        return response.aiter_bytes()
    return stream


class HttpCaller:
    def __init__(self, ask: Ask, url: str, headers: Mapping[str, str]) -> None:
        self._ask, self._cookies = ask, httpx2.Cookies()
        self._parsed = "", httpx2.URL("")
        self._headers = {name.lower(): value for name, value in {**OURS, **headers}.items()}
        self.url = url

    @asynccontextmanager
    async def call(
        self, method: str, headers: Mapping[str, str], content: bytes | None = None, url: str | None = None
    ) -> AsyncIterator[Answer]:
        """Send a request. After a redirection on the same server, later requests go to the new URL directly.

        Raises:
            Refused: it is redirected elsewhere.
            ConnectionLost: it could not be sent, or no response came.
        """
        for _ in range(REDIRECTIONS):
            response = await self._send(method, headers, content, url or self.url)
            try:
                head = Head(url or self.url, response.status_code, response.headers)
                meaning = read_head(head)
                if not isinstance(meaning, Moved):
                    yield Answer(head, meaning, response)
                    return
                if url is None:
                    self.url = meaning.url
                else:
                    url = meaning.url
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        raise Refused(f"{named(self.url)} sends us from one address to the next without an end.", 308)

    async def _send(self, method: str, headers: Mapping[str, str], content: bytes | None, url: str) -> httpx2.Response:
        try:
            if self._parsed[0] != url:
                self._parsed = url, httpx2.URL(url)
            said = {**self._headers, **headers}
            bounds = _bounds(content)
            request = httpx2.Request(method, self._parsed[1], headers=said, content=content, extensions=bounds)
            if self._cookies:  # of a load balancer, for session affinity
                self._cookies.set_cookie_header(request)
            response = await self._ask(request)
        except ConnectionLost:
            raise
        except Exception as error:  # an `httpx2.Auth` may raise anything
            raise lost(url, error) from error
        if "set-cookie" in response.headers:
            response.request = request
            self._cookies.extract_cookies(response)
        return response


def _bounds(content: bytes | None) -> dict[str, dict[str, float | None]]:
    """The timeouts of httpx2 for a request, in seconds. `HttpConnection` has its own timeouts."""
    write = WRITE_SECONDS + len(content or b"") / SLOWEST
    return {"timeout": {"connect": CONNECT_SECONDS, "read": None, "write": write, "pool": None}}


@asynccontextmanager
async def http_caller(
    url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, transport: httpx2.AsyncBaseTransport | None
) -> AsyncIterator[HttpCaller]:
    """Raises ConnectionLost if the URL is invalid, or the proxy settings in the environment cannot be used."""
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise lost(url, error) from error
    if address.scheme not in ("http", "https") or not address.host:
        raise lost(url, httpx2.UnsupportedProtocol(""))
    if transport is None and not _has_proxy(address):
        transport = HttpPool()
    try:
        connecting = httpx2.AsyncClient(auth=auth, transport=transport, trust_env=transport is None)
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        said = str(error).rstrip(".")
        clause = f"a proxy or certificates that the environment names cannot be used ({said})"
        raise lost(url, Misconfigured(clause)) from error
    async with connecting as client:

        async def ask_client(request: httpx2.Request) -> httpx2.Response:
            return await client.send(request, stream=True)

        # Without `auth` the transport is used directly, which is faster.
        yield HttpCaller(transport.handle_async_request if transport and not auth else ask_client, url, headers)


def _has_proxy(url: httpx2.URL) -> bool:
    """Whether the environment names a proxy for this URL, which is then left to httpx2."""
    if url.host in ("localhost", "127.0.0.1", "::1"):
        return False
    proxies = getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not proxy_bypass(url.host)
