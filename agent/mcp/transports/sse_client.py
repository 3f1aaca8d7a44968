"""HTTP+SSE, the transport of 2024-11-05, client side: one stream to receive on, and an endpoint to POST to."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskStatus

from agent.mcp.envelope import SALVAGED, Closed, ConnectionLost, Inbound
from agent.mcp.exchange import (
    EVENT_TYPE,
    JSON_TYPE,
    Refused,
    Rejected,
    Sse,
    joined,
    named,
    origin,
    read_rejection,
    unexpected,
)
from agent.mcp.jsonrpc import Message, Request, encode
from agent.mcp.transports.http_streams import Incoming

if TYPE_CHECKING:
    from agent.mcp.transports.http_caller import HttpCaller

Deliver = Callable[[Inbound | ConnectionLost], Awaitable[None]]

logger = logging.getLogger(__name__)

ENDPOINT_SECONDS = 10.0  # for the `endpoint` event
RECEIPT_SECONDS = 30.0  # for the server to take a message


class SseChannel:
    """`run` reads the stream, and delivers its messages and finally the reason why it ended; `post` sends."""

    def __init__(self, caller: HttpCaller, limit: int, deliver: Deliver) -> None:
        self._caller, self._deliver = caller, deliver
        self._incoming = Incoming(None, limit)
        self._endpoint: str | None = None

    async def post(self, message: Message) -> None:
        """Send a message; the response to a request arrives on the stream."""
        try:
            with anyio.move_on_after(RECEIPT_SECONDS) as patience:
                await self._post(message)
            if patience.cancelled_caught:
                raise ConnectionLost(f"{named(self._caller.url)} did not take a message in time.")
        except ConnectionLost as error:
            logger.debug("a %s could not be sent: %s", type(message).__name__, error)
            if isinstance(message, Request):
                await self._deliver(Closed(message.id, error))

    async def _post(self, message: Message) -> None:
        headers = {"content-type": JSON_TYPE, "accept": f"{JSON_TYPE}, {EVENT_TYPE}"}
        async with self._caller.call("POST", headers, encode(message), self._endpoint) as answer:
            body = await answer.read(SALVAGED)
            if isinstance(answer.meaning, Rejected):
                reason = read_rejection(answer.head, body, in_session=False)
                raise reason if isinstance(reason, Refused) else unexpected(answer.head, body)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Read the stream to its end; started as soon as the `endpoint` event has come.

        Raises:
            ConnectionLost: it did not come.
        """
        try:
            await self._read(task_status)
            raise ConnectionLost(f"{named(self._caller.url)} closed its stream.")
        except ConnectionLost as error:
            if self._endpoint is None:
                raise
            await self._deliver(error)

    async def _read(self, task_status: TaskStatus[None]) -> None:
        with anyio.move_on_after(ENDPOINT_SECONDS) as patience:
            async with self._caller.call("GET", {"accept": EVENT_TYPE}) as answer:
                if not isinstance(answer.meaning, Sse):
                    raise unexpected(answer.head, b"")
                async with aclosing(answer.chunks()) as chunks:
                    async for chunk in chunks:
                        items = self._incoming.feed(chunk)
                        if self._endpoint is None and self._incoming.endpoint is not None:
                            self._endpoint = self._resolve(self._incoming.endpoint)
                            patience.deadline = math.inf
                            task_status.started()
                        for item in items:
                            await self._deliver(item)
        if self._endpoint is None:
            raise ConnectionLost(f"{named(self._caller.url)} did not say where to post messages.")

    def _resolve(self, endpoint: str) -> str:
        """Messages may contain secrets, so they are not sent to another origin than that of the stream."""
        url = joined(self._caller.url, endpoint)
        if origin(url) != origin(self._caller.url):
            raise ConnectionLost(f"{named(self._caller.url)} wants messages posted to another server, {origin(url)}.")
        return url
