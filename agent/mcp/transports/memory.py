"""A connection with no wire: two ends in one process, for tests and embedded servers."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, ObjectStream

from agent.mcp.envelope import Envelope, Inbound
from agent.mcp.jsonrpc import decode, encode

BUFFERED = 64  # envelopes that may wait on either side before the sender does


class MemoryChannel(ObjectStream[Any]):
    """Messages cross as JSON all the same: what would not survive a wire does not survive here."""

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
    """Two ends: what one sends, the other receives."""
    here, there_in = anyio.create_memory_object_stream[Envelope](BUFFERED)
    there, here_in = anyio.create_memory_object_stream[Envelope](BUFFERED)
    return MemoryChannel(here, here_in), MemoryChannel(there, there_in)
