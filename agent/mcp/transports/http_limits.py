"""Rate limits for each client of an HTTP server."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from agent.mcp.admission import Refusal
from agent.mcp.jsonrpc import INVALID_REQUEST, Failure
from agent.mcp.transports.http_responses import App, Receive, Scope, Send, send_refusal

HEAD_LIMIT = 32 * 1024  # bytes of all headers of a request
REMEMBERED = 10_000  # clients


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each client, identified by its address: a token bucket of `burst` requests, refilled `per_second`.

    `open` is the number of concurrent requests, open streams included.
    """

    per_second: float = 100.0
    burst: int = 500
    open: int = 200


@dataclass(slots=True)
class _Client:
    allowance: float
    seen_at: float
    open: int = 0


class Limited:
    """An ASGI middleware that enforces `Limits`."""

    def __init__(self, app: App, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._limits, self._clock = app, limits, clock
        self._clients: OrderedDict[str, _Client] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = self._client((scope.get("client") or ("", 0))[0])
        if refused := self._refusal(scope, client):
            await send_refusal(send, refused)
            return
        client.open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            client.open -= 1

    def _client(self, address: str) -> _Client:
        """The state of a client, its bucket refilled. Beyond REMEMBERED, the one idle for longest is dropped."""
        now, limits = self._clock(), self._limits
        client = self._clients.setdefault(address, _Client(limits.burst, now))
        self._clients.move_to_end(address)
        passed, client.seen_at = now - client.seen_at, now
        client.allowance = min(limits.burst, client.allowance + passed * limits.per_second)
        if len(self._clients) > REMEMBERED:
            idle = next((name for name, one in self._clients.items() if not one.open), address)
            del self._clients[idle]
        return client

    def _refusal(self, scope: Scope, client: _Client) -> Refusal | None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_LIMIT:
            return _refuse(431, f"The headers are longer than {HEAD_LIMIT} bytes.")
        if client.open >= self._limits.open:
            return _refuse(429, f"More than {self._limits.open} requests of this client are open.", 1)
        if client.allowance < 1:
            wait = math.ceil((1 - client.allowance) / self._limits.per_second)
            return _refuse(429, "This client sends too many requests; slow down.", wait)
        client.allowance -= 1
        return None


def _refuse(status: int, sentence: str, retry_after: int | None = None) -> Refusal:
    return Refusal(status, Failure(None, INVALID_REQUEST, sentence), retry_after=retry_after)
