"""What breaks in one connection, in whatever way, ends that connection and nothing else."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import anyio
import pytest
from anyio.abc import ObjectStream

from agent.chat.events import ServerChanged
from agent.chat.messages import Stop, user
from agent.chat.questions import Answer, Question
from agent.host.config.models import ServerTable
from agent.host.errors import HostError, ServerUnavailable
from agent.mcp import Context, Server, memory
from agent.mcp.envelope import Channel, Envelope, Inbound, Transport
from tests.host.scene import Scene, configure, scene

pytestmark = pytest.mark.anyio

SAID = "The connection broke down: ValueError: the cable is frayed."
server = Server("plain")


@server.tool(annotations={"readOnlyHint": True})
async def echo(message: str) -> str:
    return message


@server.tool
async def wait() -> None:
    await anyio.sleep_forever()


@server.tool
async def borrow(ctx: Context) -> str:
    return (await ctx.sample("hello")).text


class Frayed:
    """A transport that raises what none should, in one place, once `broken` says so."""

    def __init__(self, place: str, *, broken: bool) -> None:
        self.place, self.broken = place, broken

    def pull(self, place: str) -> None:
        if self.broken and place == self.place:
            raise ValueError("the cable is frayed.")

    async def __aenter__(self) -> Channel:
        self.pull("open")
        self._inner: Transport = memory(server)
        return _Channel(await self._inner.__aenter__(), self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        await self._inner.__aexit__(kind, error, traceback)
        self.pull("close")
        return None


class _Channel(ObjectStream[Any]):
    def __init__(self, inner: Channel, frayed: Frayed) -> None:
        self._inner, self._frayed = inner, frayed

    async def receive(self) -> Inbound:
        item: Inbound = await self._inner.receive()
        self._frayed.pull("receive")
        return item

    async def send(self, item: Envelope) -> None:
        self._frayed.pull("send")
        await self._inner.send(item)

    async def send_eof(self) -> None:
        await self._inner.send_eof()

    async def aclose(self) -> None:
        await self._inner.aclose()


def frayed(place: str, *, broken: bool) -> tuple[Any, Frayed]:
    """A scene of a server behind that transport, called `bad`, and of a good one."""
    transport = Frayed(place, broken=broken)

    def opened(table: ServerTable) -> Transport:
        return transport if table.command == "bad" else memory(server)

    config = configure({"bad": {}, "good": {}}, permissions={"default": "allow"})
    return scene(config, open_transport=opened), transport


async def goes_on(view: Scene) -> None:
    result = await view.host.call_tool("echo", {"message": "still here"}, "good")
    assert result.content[0].text == "still here"  # type: ignore[union-attr]


@pytest.mark.parametrize("place", ["open", "send", "receive"])
async def test_a_transport_that_raises_anything_at_the_start_fails_alone_and_can_be_started_again(place: str) -> None:
    opened, transport = frayed(place, broken=True)
    async with opened as view:
        bad, good = view.host.servers()
        assert ((bad.state, bad.detail), good.state) == (("failed", SAID), "ready")
        await goes_on(view)
        transport.broken = False
        await view.host.reconnect("bad")
        assert view.host.servers()[0].detail == "3 tools"
    assert [event.state for event in view.events(ServerChanged) if event.name == "bad"] == [
        "starting", "failed", "starting", "ready", "stopped",
    ]  # fmt: skip


async def test_a_transport_that_raises_anything_while_it_is_read_fails_what_waits_and_nothing_else() -> None:
    opened, transport = frayed("receive", broken=False)
    said: list[str] = []

    async def call(view: Scene, tool: str, arguments: dict[str, str]) -> None:
        with pytest.raises(ServerUnavailable) as caught:
            await view.host.call_tool(tool, arguments, "bad")
        said.append(str(caught.value))

    async with opened as view:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, view, "wait", {})
            await anyio.wait_all_tasks_blocked()
            transport.broken = True
            tasks.start_soon(call, view, "echo", {"message": "hi"})
        await view.until(lambda: view.host.servers()[0].state == "failed")
        assert view.host.servers()[0].detail == SAID
        await goes_on(view)
    assert said == ["The server bad is gone: The connection is closed."] * 2


async def test_a_call_that_cannot_be_sent_fails_alone() -> None:
    opened, transport = frayed("send", broken=False)
    async with opened as view:
        transport.broken = True
        with pytest.raises(ServerUnavailable, match=f"^bad: {SAID}$"):
            await view.host.call_tool("echo", {"message": "hi"}, "bad")
        await goes_on(view)
        transport.broken = False
        await view.host.reconnect("bad")
        result = await view.host.call_tool("echo", {"message": "hi"}, "bad")
        assert result.content[0].text == "hi"  # type: ignore[union-attr]


async def test_a_transport_that_raises_when_it_is_left_does_not_keep_the_others_from_leaving() -> None:
    opened, _ = frayed("close", broken=True)
    async with opened as view:
        await goes_on(view)
        await view.host.reconnect("bad")
        await goes_on(view)
    assert [(event.state, event.detail) for event in view.events(ServerChanged) if event.name == "good"][1:] == [
        ("ready", "3 tools"),
        ("stopped", ""),
    ]


async def test_an_answer_that_raises_fails_that_question_and_nothing_else() -> None:
    def person(question: Question) -> Answer:
        raise LookupError("nobody told me")

    config = configure({"bad": {}, "good": {}}, permissions={"default": "allow"})
    opened = scene(config, {"bad": server, "good": server}, person=person)
    async with opened as view:
        view.host.outbox._policy = person
        with pytest.raises(HostError, match="Internal error"):
            await view.host.call_tool("borrow", {}, "bad")
        assert [one.state for one in view.host.servers()] == ["ready", "ready"]
        await goes_on(view)
        assert (await view.host.agent.turn(user("echo hello"))).stop is Stop.END
