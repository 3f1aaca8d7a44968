"""The measured client of this implementation: `ours_client ERA URL`, or `ours_client ERA COMMAND…` for stdio."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from agent.mcp import Client, http, stdio
from benchmarks.ends.orders import Caller, obey, text_of

PROTOCOLS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}


class Ours:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def echo(self) -> None:
        result = await self._client.call_tool("echo", {"message": "hello"})
        assert text_of(result.content) == "hello"

    async def large(self, size: int) -> None:
        result = await self._client.call_tool("large", {"size": size})
        assert len(text_of(result.content)) == size

    async def list_tools(self) -> None:
        assert len(await self._client.list_tools()) == 2


@asynccontextmanager
async def connect() -> AsyncIterator[Caller]:
    target = sys.argv[2:]
    transport = http(target[0]) if target[0].startswith("http") else stdio(target)
    async with Client(transport, protocol=PROTOCOLS[sys.argv[1]]) as client:
        yield Ours(client)


if __name__ == "__main__":
    anyio.run(obey, connect)
