"""A transport wrapper that reports when the connection opens, each message, and when and why it is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from anyio.abc import ObjectStream

from agent.host.trace import Tap
from agent.mcp.envelope import Channel, ConnectionLost, Envelope, Inbound, Transport, fell_back


class Lifeline:
    """Wraps a transport and is passed to the client in its place. Each time it is entered, it opens a new connection.

    `opened` is set before the first message of the server. `lost` refers to the newest connection.
    """

    def __init__(self, transport: Transport, tap: Tap) -> None:
        self._transport, self.tap = transport, tap
        self._ahead: Channel | None = None
        self.opened, self.lost = anyio.Event(), anyio.Event()
        self.reason = ConnectionLost("The connection was closed.")

    @property
    def key(self) -> str:
        """Identifies the server; empty for a connection that cannot be opened again."""
        from agent.mcp.client.opening import key_of

        return key_of(self._transport)

    @asynccontextmanager
    async def opened_ahead(self) -> AsyncIterator[None]:
        """Connect before the client is created, which may take a while; the client then uses this connection.

        Raises:
            ConnectionLost: the connection could not be opened.
        """
        self._ahead = await self._transport.__aenter__()
        self.opened.set()
        try:
            yield
        finally:
            if self._take_ahead():
                await self._transport.__aexit__(None, None, None)

    async def __aenter__(self) -> Channel:
        self.lost = anyio.Event()
        return _Watched(self._take_ahead() or await self._transport.__aenter__(), self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, traceback)

    def _take_ahead(self) -> Channel | None:
        channel, self._ahead = self._ahead, None
        return channel


class _Watched(ObjectStream[Any]):
    def __init__(self, channel: Channel, lifeline: Lifeline) -> None:
        self._channel, self._lifeline = channel, lifeline

    @property
    def fell_back(self) -> bool:
        return fell_back(self._channel)

    async def receive(self) -> Inbound:
        try:
            item: Inbound = await self._channel.receive()
        except (ConnectionLost, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            if isinstance(error, ConnectionLost):
                self._lifeline.reason = error
                self._lifeline.tap("received", error)
            self._lifeline.lost.set()
            raise
        self._lifeline.tap("received", item)
        return item

    async def send(self, item: Envelope) -> None:
        self._lifeline.tap("sent", item)
        await self._channel.send(item)

    async def send_eof(self) -> None:
        await self._channel.send_eof()

    async def aclose(self) -> None:
        await self._channel.aclose()
