"""Streamable HTTP, client side: a POST for each message, which is answered by JSON or by a stream of events.

Both eras of the protocol use it. In the handshake era there is a session, a standalone stream (GET) for what belongs to
no request, and streams that broke off can be resumed. In the stateless era a request lives as long as its stream:
closing the stream cancels the request.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import ObjectStream, TaskGroup

from agent.mcp.background import background
from agent.mcp.envelope import SALVAGED, Channel, Closed, ConnectionLost, Envelope, Inbound
from agent.mcp.exchange import Refused, Rejected, SessionHeaders, Sse, named, post_headers
from agent.mcp.jsonrpc import Message, Notification, Request, RequestId, as_request_id, encode
from agent.mcp.peer import CANCELLED
from agent.mcp.sse import EVENT_LIMIT
from agent.mcp.task_pool import TaskPool
from agent.mcp.transports.http_exchange import Endpoint, Exchange, listen
from agent.mcp.transports.reentrant import ReentrantTransport
from agent.mcp.transports.sse_client import SseChannel

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[Inbound | ConnectionLost]]

WAITING = 64  # received messages buffered for the session
RECEIPT_SECONDS = 30.0  # for the server to accept a message that needs no response
FAREWELL_SECONDS = 1.0  # for the server to end a session
OLD_TRANSPORT = (400, 404, 405, 406, 415, 501)  # how a server of HTTP+SSE, which expects a GET, answers a POST


def http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    limit: int = EVENT_LIMIT,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> HttpTransport:
    """A transport to the server at a URL, which is used as it is, query and trailing slash included.

    It uses Streamable HTTP and, if the server does not support that, HTTP+SSE (2024-11-05). `headers` are sent with
    every request, and to this server only: redirections elsewhere are not followed. `auth` signs each request. `limit`
    is the longest message read, in bytes. `transport` replaces the network.

    Raises, on entering it:
        ConnectionLost: the URL is invalid. Whether the server can be reached shows with the first request.
    """
    return HttpTransport(url, headers or {}, auth, limit, transport)


class HttpTransport(ReentrantTransport):
    """Made by `http`. Each time it is entered, it opens a new connection."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        auth: httpx2.Auth | None,
        limit: int,
        transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        self.url, self.auth = url, auth
        self._headers, self._limit, self._transport = headers, limit, transport
        self._channel: HttpChannel | None = None

    @property
    def fell_back(self) -> bool:
        """Whether the server was found to use the older HTTP+SSE."""
        return self._channel is not None and self._channel.fell_back

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[Channel]:
        from agent.mcp.transports.http_caller import http_caller

        inbox, arrived = anyio.create_memory_object_stream[Inbound | ConnectionLost](WAITING)
        opening = http_caller(self.url, self._headers, self.auth, self._transport)
        with inbox, arrived:
            async with opening as caller, background() as tasks:
                self._channel = channel = HttpChannel(
                    Endpoint(caller, self._limit, inbox.send, SessionHeaders()), arrived.receive, tasks
                )
                try:
                    yield channel
                finally:
                    await channel.aclose()


class HttpChannel(ObjectStream[Any]):
    """`receive` returns what the tasks of `endpoint` deliver."""

    def __init__(self, endpoint: Endpoint, receive: Receive, tasks: TaskGroup) -> None:
        self._endpoint, self._receive, self._tasks, self._pool = endpoint, receive, tasks, TaskPool(tasks)
        self._open: dict[RequestId, Exchange] = {}
        self._listening = anyio.CancelScope()
        self._old: SseChannel | None = None

    @property
    def fell_back(self) -> bool:
        return self._old is not None

    async def receive(self) -> Inbound:
        item = await self._receive()
        if isinstance(item, ConnectionLost):
            raise item
        return item

    async def send(self, item: Envelope) -> None:
        """Requests wait in tasks of their own; everything else has been sent when this returns."""
        for message in item.messages:
            if self._old:
                await self._old.post(message)
            elif isinstance(message, Request):
                self._ask(message, item.context)
            elif isinstance(message, Notification) and message.method == CANCELLED:
                await self._withdraw(message)
            else:
                await self._tell(message)

    async def send_eof(self) -> None:
        """Nothing to do: every HTTP request ends by itself."""

    async def aclose(self) -> None:
        """End the session (DELETE), in bounded time."""
        session, self._endpoint.session = self._endpoint.session, SessionHeaders()
        if session.id:
            with anyio.move_on_after(FAREWELL_SECONDS, shield=True), suppress(ConnectionLost):
                async with self._endpoint.caller.call("DELETE", session.headers()):
                    pass

    def _ask(self, request: Request, context: Mapping[str, Any]) -> None:
        if request.method == "initialize":
            self._endpoint.session = SessionHeaders()
        exchange = self._open[request.id] = Exchange(self._endpoint, request, context)
        self._pool.start(self._run, exchange)

    async def _run(self, exchange: Exchange) -> None:
        id = exchange.request.id
        try:
            with exchange.scope:
                await self._run_to_its_end(exchange)
        except Exception as error:  # any error ends this exchange, and no other
            await self._endpoint.deliver(Closed(id, error))
        finally:
            if self._open.get(id) is exchange:
                del self._open[id]

    async def _run_to_its_end(self, exchange: Exchange) -> None:
        request = exchange.request
        try:
            await exchange.run()
        except ConnectionLost as error:
            if not (request.method == "initialize" and await self._fall_back(error, request)):
                raise

    async def _fall_back(self, error: ConnectionLost, request: Request) -> bool:
        """Fall back to HTTP+SSE, if the server answered as such a server does (section "Backwards Compatibility")."""
        if not isinstance(error, Refused) or error.status not in OLD_TRANSPORT:
            return False
        old = SseChannel(self._endpoint.caller, self._endpoint.limit, self._endpoint.deliver)
        try:
            await self._tasks.start(old.run)
        except ConnectionLost:
            return False
        self._old = old
        await old.post(request)
        return True

    async def _tell(self, message: Message) -> None:
        """Send a message that needs no response. Failures are logged only: the next request will raise them."""
        caller, headers = self._endpoint.caller, post_headers(message, self._endpoint.session, {})
        try:
            with anyio.move_on_after(RECEIPT_SECONDS):
                async with caller.call("POST", headers, encode(message)) as answer:
                    if isinstance(answer.meaning, Rejected):
                        logger.debug("%s did not take a %s", named(answer.head.url), type(message).__name__)
                    if not isinstance(answer.meaning, Sse):
                        await answer.read(SALVAGED)  # the connection can be reused only when the response is read
        except ConnectionLost as error:
            logger.debug("a %s could not be sent: %s", type(message).__name__, error)
        if isinstance(message, Notification) and message.method == "notifications/initialized":
            self._listen()

    async def _withdraw(self, cancelled: Notification) -> None:
        id = as_request_id((cancelled.params or {}).get("requestId"))
        exchange = None if id is None else self._open.get(id)
        try:
            if not (exchange and exchange.is_stateless):
                await self._tell(cancelled)
        finally:
            if exchange:
                exchange.scope.cancel()

    def _listen(self) -> None:
        """Open the standalone stream of the session; called after each handshake."""
        self._listening.cancel()
        self._listening = scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await listen(self._endpoint)

        self._tasks.start_soon(run)
