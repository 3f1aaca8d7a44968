from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.mcp.envelope import ConnectionLost, Garbled
from agent.mcp.errors import Unreadable
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Failure, Notification, Result
from agent.mcp.transports.memory import MemoryChannel
from tests.mcp.foreign_server import ForeignServer, connected, initialized

pytestmark = pytest.mark.anyio

EVERYTHING = initialized(tools={}, resources={}, prompts={})


class Crier(ForeignServer):
    """Puts raw items into the client's channel before its first answer."""

    def __init__(self, *items: Any) -> None:
        super().__init__({})
        self.items = items

    async def say(self, *messages: Any) -> None:
        assert isinstance(self.channel, MemoryChannel)
        for item in self.items:
            await self.channel._outgoing.send(item)
        self.items = ()
        await super().say(*messages)


async def test_noise_is_noticed_once_for_each_kind() -> None:
    notices: list[str] = []
    items = [Garbled(-32700, "not JSON", f"line {n}") for n in range(50)]
    items += [Garbled(-32600, "it is longer than the limit of 9 bytes", "xxx", 77, "answer", lost=True)] * 2
    items += [Garbled(-32600, "not a JSON-RPC 2.0 message", '{"id":77,"result":1}', 77, "answer")] * 2
    async with connected(Crier(*items), on_notice=notices.append) as client:
        await client.ping()
    assert notices == [
        "The server prints on stdout what is no message, as in 'line 0'; that was skipped.",
        "A message of the server was dropped: it is longer than the limit of 9 bytes.",
        'The server sent a message that cannot be read (not a JSON-RPC 2.0 message): \'{"id":77,"result":1}\'.',
    ]


async def test_errors_that_belong_to_nothing_are_shown_with_the_servers_words() -> None:
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING})
    async with connected(server, on_notice=notices.append) as client:
        await server.say(Failure(None, METHOD_NOT_FOUND, "Method not found: initialized"), Result(0, {}))
        await client.ping()
        for n in range(40):
            await server.say(Failure(None, METHOD_NOT_FOUND, f"trouble {n}"))
        await client.ping()
    assert notices[:3] == [
        "The server reports an error that belongs to no request: Method not found: initialized (code -32601).",
        "The server answered a request that is not open (id 0).",
        "The server reports an error that belongs to no request: trouble 0 (code -32601).",
    ]
    assert len(notices) == 20


async def test_trouble_without_anyone_to_tell_is_no_trouble() -> None:
    server = ForeignServer({})
    async with connected(server) as client:
        await server.say(Result(0, {}), Notification("notifications/message", {"level": "info", "data": "x"}))
        await client.ping()


async def test_a_call_whose_answer_cannot_be_read_fails_and_others_go_on() -> None:
    lost = Garbled(-32600, "it is longer than the limit of 9 bytes", "{", 3, "answer", lost=True)
    server = Crier()
    async with connected(server) as client:
        server.items = (lost,)
        with pytest.raises(Unreadable, match="could not be read: it is longer than the limit of 9 bytes"):
            await client.ping()
        await client.ping()


async def test_a_cancelled_call_is_withdrawn_and_its_late_answer_dropped() -> None:
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING})
    async with connected(server, on_notice=notices.append) as client:
        server._answer = lambda request: Notification("silence")  # type: ignore[method-assign]
        with anyio.move_on_after(0.01):
            await client.call_tool("slow")
        del server._answer  # type: ignore[method-assign]
        await server.say(Result(3, {"content": []}), Result(3, {"content": []}))
        await client.ping()
    assert server.asked("notifications/cancelled") == [{"requestId": 3, "reason": "the caller no longer waits"}]
    assert notices == []


async def test_after_the_loss_every_call_says_so() -> None:
    class Leaver(ForeignServer):
        async def serve(self, channel: Any, /) -> None:
            self.channel = channel
            for _ in range(2):
                await self.say(self._answer((await channel.receive()).messages[0]))

    async with connected(Leaver({})) as client:
        for _ in range(2):
            with pytest.raises(ConnectionLost, match=r"The connection is closed\."):
                await client.ping()
