"""A connection within one process, for tests and embedded servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, ObjectStream

from agent.mcp.background import background
from agent.mcp.envelope import Channel, Envelope, Inbound
from agent.mcp.jsonrpc import decode, encode
from agent.mcp.transports.reentrant import ReentrantTransport

BUFFERED = 64  # envelopes buffered in each direction, before the sender waits
LEAVING_SECONDS = 0.5  # for the server to end by itself after its client has disconnected


class Serves(Protocol):
    """What `memory` needs of a server."""

    async def serve(self, channel: Channel, /) -> None:
        """Serve one connection until it ends."""
        ...


class MemoryChannel(ObjectStream[Any]):
    """Messages are encoded as JSON and decoded, so that they are changed or refused as by other transports."""

    def __init__(self, outgoing: ObjectSendStream[Envelope], incoming: ObjectReceiveStream[Envelope]) -> None:
        self._outgoing, self._incoming = outgoing, incoming

    async def send(self, item: Envelope) -> None:
        messages = tuple(decode(encode(message)) for message in item.messages)
        await self._outgoing.send(Envelope(messages, item.batch, item.about, item.context))

    async def receive(self) -> Inbound:
        return await self._incoming.receive()

    async def send_eof(self) -> None:
        await self._outgoing.aclose()

    async def aclose(self) -> None:
        await self._outgoing.aclose()
        await self._incoming.aclose()


def channel_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two connected channels: each receives what the other sends."""
    here, there_in = anyio.create_memory_object_stream[Envelope](BUFFERED)
    there, here_in = anyio.create_memory_object_stream[Envelope](BUFFERED)
    return MemoryChannel(here, here_in), MemoryChannel(there, there_in)


def memory(server: Serves) -> MemoryTransport:
    """A transport to a server in this process: `Client(memory(server))`."""
    return MemoryTransport(server)


class MemoryTransport(ReentrantTransport):
    """Made by `memory`. Each time it is entered, it opens a new connection."""

    def __init__(self, server: Serves) -> None:
        self._server = server

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[Channel]:
        ours, theirs = channel_pair()
        served = anyio.Event()

        async def serve() -> None:
            try:
                await self._server.serve(theirs)
            finally:
                await theirs.aclose()
                served.set()

        async with background() as tasks:
            tasks.start_soon(serve)
            try:
                yield ours
            finally:
                with anyio.move_on_after(LEAVING_SECONDS, shield=True):
                    await ours.aclose()
                    await served.wait()
