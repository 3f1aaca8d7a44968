"""The measured client of the official SDK: `sdk_client ERA URL`, or `sdk_client ERA COMMAND…` for stdio."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from benchmarks.ends.orders import Caller, obey, text_of

if TYPE_CHECKING:
    from mcp import Client

MODES = {"handshake": "legacy", "stateless": "2026-07-28"}


class Sdk:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def echo(self) -> None:
        result = await self._client.call_tool("echo", {"message": "hello"})
        assert text_of(result.content) == "hello"

    async def large(self, size: int) -> None:
        result = await self._client.call_tool("large", {"size": size})
        assert len(text_of(result.content)) == size

    async def list_tools(self) -> None:
        assert len((await self._client.list_tools()).tools) == 2


@asynccontextmanager
async def connect() -> AsyncIterator[Caller]:
    from mcp import Client, StdioServerParameters

    era, *target = sys.argv[1:]
    over_http = target[0].startswith("http")
    server = target[0] if over_http else StdioServerParameters(command=target[0], args=target[1:])
    async with Client(server, mode=MODES[era]) as client:
        yield Sdk(client)


if __name__ == "__main__":
    anyio.run(obey, connect)
