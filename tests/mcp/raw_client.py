"""A client that says exactly what a test tells it to, and remembers all it hears."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio

from agent.mcp import Server
from agent.mcp.envelope import Channel, Envelope
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.transports.memory import memory

Answer = Callable[[dict[str, Any]], Any]


class RawClient:
    """`answers` says by method what to answer the server's requests with; a Failure is one."""

    def __init__(self, channel: Channel, answers: Mapping[str, Answer]) -> None:
        self.channel, self._answers = channel, answers
        self._ids = count(100)
        self.heard: list[Message] = []

    async def ask(self, method: str, params: Any = None, id: RequestId | None = None) -> Any:
        """The result of a request. Raises AssertionError for an error."""
        outcome = await self.outcome(method, params, id)
        assert isinstance(outcome, Result), outcome
        return outcome.value

    async def refusal(self, method: str, params: Any = None) -> Failure:
        outcome = await self.outcome(method, params)
        assert isinstance(outcome, Failure), outcome
        return outcome

    async def outcome(self, method: str, params: Any = None, id: RequestId | None = None) -> Result | Failure:
        id = next(self._ids) if id is None else id
        await self.say(Request(id, method, params))
        return await self.answer_to(id)

    async def answer_to(self, id: RequestId) -> Result | Failure:
        """Read until request `id` is answered, and serve the server meanwhile."""
        while True:
            message = await self.hear()
            if isinstance(message, Result | Failure) and message.id == id and type(message.id) is type(id):
                return message

    async def hear(self) -> Message:
        """The next message, which is answered if it is a request."""
        with anyio.fail_after(5):
            item = await self.channel.receive()
        (message,) = item.messages
        if isinstance(message, Request) and message.method in self._answers:
            answer = self._answers[message.method](message.params or {})
            reply = answer if isinstance(answer, Failure) else Result(message.id, answer)
            await self.say(Failure(message.id, reply.code, reply.message) if isinstance(reply, Failure) else reply)
        self.heard.append(message)
        return message

    async def say(self, message: Message) -> None:
        await self.channel.send(Envelope((message,)))

    async def tell(self, method: str, params: Any = None) -> None:
        await self.say(Notification(method, params))

    async def call(self, tool: str, /, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
        """The result of a tool call."""
        params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        return await self.ask("tools/call", params)

    def told(self, method: str) -> list[dict[str, Any]]:
        """The params of every notification and request of this method so far."""
        return [
            message.params or {}
            for message in self.heard
            if isinstance(message, Notification | Request) and message.method == method
        ]


@asynccontextmanager
async def raw_client(
    server: Server,
    revision: str | None = "2025-11-25",
    capabilities: Mapping[str, Any] | None = None,
    answers: Mapping[str, Answer] | None = None,
) -> AsyncIterator[RawClient]:
    """A client of `server` in this process, after the handshake; without one if `revision` is None."""
    async with memory(server) as channel:
        client = RawClient(channel, answers or {})
        if revision:
            info = {"name": "raw", "version": "0"}
            offer = {"protocolVersion": revision, "capabilities": dict(capabilities or {}), "clientInfo": info}
            await client.ask("initialize", offer)
            await client.tell("notifications/initialized")
        yield client


def text_of(result: dict[str, Any]) -> str:
    """The text of a tool's result."""
    return "".join(block["text"] for block in result["content"])
