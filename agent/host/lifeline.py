"""A transport that tells its owner when the connection is open, and when and why it is lost."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import anyio
from anyio.abc import ObjectStream

from agent.mcp.envelope import Channel, ConnectionLost, Envelope, Inbound, Transport


class Lifeline:
    """Wraps a transport, to be given to a client in its place. `opened` comes before the server has said anything."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.opened, self.lost = anyio.Event(), anyio.Event()
        self.reason = ConnectionLost("The connection was closed.")

    async def __aenter__(self) -> Channel:
        channel = await self._transport.__aenter__()
        self.opened.set()
        return _Watched(channel, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, traceback)


class _Watched(ObjectStream[Any]):
    def __init__(self, channel: Channel, lifeline: Lifeline) -> None:
        self._channel, self._lifeline = channel, lifeline

    async def receive(self) -> Inbound:
        try:
            item: Inbound = await self._channel.receive()
        except (ConnectionLost, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            if isinstance(error, ConnectionLost):
                self._lifeline.reason = error
            self._lifeline.lost.set()
            raise
        return item

    async def send(self, item: Envelope) -> None:
        await self._channel.send(item)

    async def send_eof(self) -> None:
        await self._channel.send_eof()

    async def aclose(self) -> None:
        await self._channel.aclose()
