"""The client's end of HTTP+SSE alone, without the Streamable HTTP that finds out that it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream

from agent.mcp.background import background
from agent.mcp.envelope import ConnectionLost, Envelope, Inbound
from agent.mcp.sse import EVENT_LIMIT
from agent.mcp.transports.http_caller import http_caller
from agent.mcp.transports.sse_client import SseChannel


class Ends:
    """What a test says and hears."""

    def __init__(self, channel: SseChannel, delivered: MemoryObjectReceiveStream[Inbound | ConnectionLost]) -> None:
        self._channel, self._delivered = channel, delivered

    async def send(self, item: Envelope) -> None:
        for message in item.messages:
            await self._channel.post(message)

    async def receive(self) -> Inbound:
        item = await self._delivered.receive()
        if isinstance(item, ConnectionLost):
            raise item
        return item


@asynccontextmanager
async def sse(url: str, transport: httpx2.AsyncBaseTransport) -> AsyncIterator[Ends]:
    inbox, delivered = anyio.create_memory_object_stream[Inbound | ConnectionLost](64)
    with inbox, delivered:
        async with http_caller(url, {}, None, transport) as caller, background() as tasks:
            channel = SseChannel(caller, EVENT_LIMIT, inbox.send)
            await tasks.start(channel.run)
            yield Ends(channel, delivered)
