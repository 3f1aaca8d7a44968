"""A server that is not ours: it answers from a table, and keeps what it heard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from agent.mcp.client.client import Client
from agent.mcp.envelope import Channel, Envelope
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.transports.memory import memory

Answers = Mapping[str, Any]
"""By method: the result, a Failure (whose id is filled in), or a function of the params that gives either."""


def initialized(revision: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    """What a server answers to `initialize`."""
    return {
        "protocolVersion": revision,
        "capabilities": capabilities,
        "serverInfo": {"name": "foreign", "version": "0"},
    }


class ForeignServer:
    """`before` is sent once, ahead of the first answer; `told` are the messages of the client, in order.

    It belongs to the handshake era, unless it has an answer to `server/discover`. If not, `told` leaves that out.
    """

    def __init__(self, answers: Answers, before: tuple[Message, ...] = ()) -> None:
        self.answers, self.before = {"initialize": initialized(tools={}), "ping": {}} | dict(answers), before
        self.told: list[Message] = []
        self.channel: Channel | None = None

    async def serve(self, channel: Channel, /) -> None:
        self.channel = channel
        async for item in channel:
            for message in item.messages:
                if not isinstance(message, Request) or message.method != "server/discover" or self.is_modern:
                    self.told.append(message)
                if isinstance(message, Request):
                    await self.say(*self.before, self._answer(message))
                    self.before = ()

    @property
    def is_modern(self) -> bool:
        return "server/discover" in self.answers

    async def say(self, *messages: Message) -> None:
        assert self.channel
        for message in messages:
            await self.channel.send(Envelope((message,)))

    def asked(self, method: str) -> list[Any]:
        """The params of every request or notification with this method."""
        return [
            message.params
            for message in self.told
            if isinstance(message, Request | Notification) and message.method == method
        ]

    def _answer(self, request: Request) -> Message:
        answer = self.answers.get(request.method, Failure(None, METHOD_NOT_FOUND, f"unknown: {request.method}"))
        return _reply(request.id, answer(request.params or {}) if isinstance(answer, Callable) else answer)


def _reply(id: RequestId, answer: Any) -> Message:
    if isinstance(answer, Failure):
        return Failure(id, answer.code, answer.message, answer.data)
    return Result(id, answer)


@asynccontextmanager
async def connected(server: ForeignServer, **more: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(5):
        async with Client(memory(server), **more) as client:
            yield client


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}
