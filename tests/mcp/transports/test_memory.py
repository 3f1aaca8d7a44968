from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.mcp.envelope import Channel, Envelope
from agent.mcp.jsonrpc import Notification, Result
from agent.mcp.transports.memory import channel_pair, memory

pytestmark = pytest.mark.anyio


async def test_messages_cross_as_json() -> None:
    here, there = channel_pair()
    async with here, there:
        sent = Envelope((Result(1, {"n": (1, float("nan"))}),), True, "about", {"header": "x"})
        await here.send(sent)
        assert await there.receive() == Envelope((Result(1, {"n": [1, None]}),), True, "about", {"header": "x"})
        with pytest.raises(TypeError):
            await here.send(Envelope((Result(1, object()),)))


async def test_the_end_of_one_direction_leaves_the_other_open() -> None:
    here, there = channel_pair()
    async with here, there:
        await here.send_eof()
        with pytest.raises(anyio.EndOfStream):
            await there.receive()
        await there.send(Envelope((Notification("still here"),)))
        assert await here.receive() == Envelope((Notification("still here"),))


class Patient:
    """A server that needs a moment to leave."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.heard, self.left = seconds, [], False  # type: ignore[var-annotated]

    async def serve(self, channel: Channel, /) -> None:
        async for item in channel:
            self.heard.append(item.messages[0])
        await anyio.sleep(self.seconds)
        self.left = True


async def test_a_server_hears_the_last_word_and_may_end_by_itself() -> None:
    server = Patient(0)
    with anyio.fail_after(5):
        async with memory(server) as channel:
            await channel.send(Envelope((Notification("last"),)))
    assert (server.heard, server.left) == ([Notification("last")], True)


async def test_a_server_that_does_not_leave_is_stopped() -> None:
    server = Patient(60)
    with anyio.fail_after(5):
        async with memory(server):
            pass
    assert not server.left


async def test_a_server_that_ends_ends_the_connection() -> None:
    class Brief:
        async def serve(self, channel: Any, /) -> None:
            await channel.send(Envelope((Notification("bye"),)))

    with anyio.fail_after(5):
        async with memory(Brief()) as channel:
            assert await channel.receive() == Envelope((Notification("bye"),))
            with pytest.raises(anyio.EndOfStream):
                await channel.receive()
