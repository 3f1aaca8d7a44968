"""A client of the stateless era that says exactly what a test tells it to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agent.mcp import Server
from agent.mcp.jsonrpc import Failure
from tests.mcp.raw_client import RawClient, raw_client

REVISION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
TASKS = "io.modelcontextprotocol/tasks"
EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}, "extensions": {TASKS: {}}}


class Caller:
    """`meta` is what every request says of itself."""

    def __init__(self, raw: RawClient, meta: Mapping[str, Any]) -> None:
        self.raw, self.meta = raw, dict(meta)

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request, without what the server says of itself in it."""
        result = await self.raw.ask(method, self.said(params))
        assert result["_meta"].pop(SERVER) == {"name": "here", "version": "1.0"}
        if not result["_meta"]:
            del result["_meta"]
        return result

    async def refusal(self, method: str, **params: Any) -> Failure:
        return await self.raw.refusal(method, self.said(params))

    async def call(self, tool: str, **params: Any) -> Any:
        return await self.ask("tools/call", name=tool, **params)

    async def answer(self, asked: Mapping[str, Any], tool: str, **responses: Any) -> Any:
        """The next round of a call: the answers, and the state as it came."""
        return await self.call(tool, inputResponses=responses, requestState=asked["requestState"])

    def said(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"_meta": self.meta, **params}


@asynccontextmanager
async def caller(server: Server, capabilities: Mapping[str, Any] = EVERYTHING, **meta: Any) -> AsyncIterator[Caller]:
    """A client of `server` (whose name is "here") in this process."""
    async with raw_client(server, None) as raw:
        yield Caller(raw, {REVISION: "2026-07-28", CAPABILITIES: capabilities, **meta})


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def sampled(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m", "stopReason": "endTurn"}


def text(words: str) -> dict[str, Any]:
    """The complete result of a tool that returns text."""
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}
