"""What old and odd hosts send, and people paste by hand."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.mcp import Context, Server
from agent.mcp.envelope import Envelope
from agent.mcp.framing import Lines
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.transports.memory import channel_pair, memory
from tests.mcp.raw_client import RawClient, raw_client, text_of

pytestmark = pytest.mark.anyio


def a_server() -> Server:
    server = Server("lenient")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def forever(ctx: Context) -> None:
        for step in range(10**9):
            await ctx.progress(step)

    return server


async def test_the_exchange_of_a_classic_host() -> None:
    async with raw_client(a_server(), None) as client:
        info = {"name": "classic-host", "version": "1.0.0"}
        offer = {"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}}, "clientInfo": info}
        begun = await client.ask("initialize", offer, 0)
        assert begun["protocolVersion"] == "2024-11-05"
        await client.tell("initialized")
        assert len((await client.ask("tools/list"))["tools"]) == 2
        assert text_of(await client.call("add", a=3, b=5)) == "8"
        assert (await client.refusal("summarize", None)).code == -32601


async def test_shutdown_is_answered_and_exit_ends_the_connection() -> None:
    async with raw_client(a_server(), None) as client:
        assert await client.ask("shutdown") == {}
        await client.tell("exit")
        with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
            await client.channel.receive()


async def test_requests_before_the_handshake_are_served() -> None:
    async with raw_client(a_server(), None) as client:
        assert await client.call("add", a=3, b=5) == {
            "content": [{"type": "text", "text": "8"}],
            "structuredContent": {"result": 8},
        }


async def test_a_second_handshake_counts() -> None:
    async with raw_client(a_server(), "2025-11-25") as client:
        assert (await client.ask("initialize", {"protocolVersion": "2024-11-05"}))["protocolVersion"] == "2024-11-05"
        assert await client.call("add", a=3, b=5) == {"content": [{"type": "text", "text": "8"}]}


@pytest.mark.parametrize(
    "offer",
    [
        None,
        {},
        {"protocolVersion": None, "capabilities": None, "clientInfo": None},
        {"capabilities": [], "clientInfo": 7},
    ],
)
async def test_a_misshapen_offer_is_taken_for_an_empty_one(offer: Any) -> None:
    async with raw_client(a_server(), None) as client:
        assert (await client.ask("initialize", offer))["protocolVersion"] == "2025-11-25"


async def test_a_probe_for_another_era_spoils_nothing() -> None:
    version = {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    async with raw_client(a_server(), None) as client:
        assert (await client.refusal("server/discover", {"_meta": version})).code == -32022
        await client.ask("initialize", {"protocolVersion": "2025-06-18"})
        await client.tell("notifications/initialized")
        assert len((await client.ask("tools/list"))["tools"]) == 2


@pytest.mark.parametrize(
    "notification",
    [
        Notification("window/logMessage", {"type": 3}),
        Notification("notifications/roots/list_changed"),
        Notification("notifications/progress", {"progressToken": "nobody", "progress": 0.5}),
        Notification("notifications/progress", {"progressToken": []}),
        Notification("notifications/cancelled", {"requestId": "unknown"}),
        Notification("notifications/cancelled", {"requestId": {}}),
        Notification("notifications/cancelled"),
    ],
)
async def test_a_notification_never_gets_an_answer(notification: Notification) -> None:
    async with raw_client(a_server()) as client:
        client.heard.clear()
        await client.say(notification)
        await client.ask("ping")
        assert len(client.heard) == 1


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        (b"this is not JSON", Failure(None, -32700, "")),
        (b"{}", Failure(None, -32600, "")),
        (b"[]", Failure(None, -32600, "")),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', Failure(4, -32600, "")),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', Failure(None, -32600, "")),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', Failure(None, -32600, "")),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', Failure(4, -32600, "")),
        (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', Failure(4, -32600, "")),
        (b"[" * 100_000, Failure(None, -32700, "")),
        (b"\xff\xfe", Failure(None, -32700, "")),
    ],
)
async def test_what_is_no_request_is_refused_and_the_server_goes_on(line: bytes, reply: Failure) -> None:
    ours, theirs = channel_pair()
    lines = Lines()
    async with ours, theirs, anyio.create_task_group() as tasks:
        tasks.start_soon(a_server().serve, theirs)
        client = RawClient(ours, {})
        for item in [*lines.feed(line + b"\n"), Envelope((Request(9, "ping"),))]:
            await theirs_hears(ours, item)
        answers = [await client.hear(), await client.hear()]
        tasks.cancel_scope.cancel()
    refusal = next(answer for answer in answers if isinstance(answer, Failure))
    assert (refusal.id, refusal.code) == (reply.id, reply.code)
    assert Result(9, {}) in answers


async def theirs_hears(channel: Any, item: Any) -> None:
    """Past the encoding of the memory channel, which only carries messages."""
    await channel._outgoing.send(item)


@pytest.mark.parametrize("id", [7, "7"])
async def test_a_cancelled_call_stops_and_gets_no_answer(id: Any) -> None:
    async with raw_client(a_server()) as client:
        params = {"name": "forever", "arguments": {}, "_meta": {"progressToken": "job-7"}}
        await client.say(Request(id, "tools/call", params))
        while len(client.told("notifications/progress")) < 3:
            await client.hear()
        await client.tell("notifications/cancelled", {"requestId": id, "reason": "user"})
        await client.ask("ping")
        client.heard.clear()
        await client.ask("ping")
        assert len(client.heard) == 1


async def test_a_cancelled_call_withdraws_its_own_question() -> None:
    server = Server("asker")
    settled: list[str] = []

    @server.tool
    async def ask(ctx: Context) -> None:
        try:
            await ctx.sample("x")
        except anyio.get_cancelled_exc_class():
            settled.append("cancelled")
            raise

    async with raw_client(server, capabilities={"sampling": {}}) as client:
        await client.say(Request(1, "tools/call", {"name": "ask"}))
        question = await client.hear()
        assert isinstance(question, Request)
        await client.tell("notifications/cancelled", {"requestId": 1})
        withdrawal = await client.hear()
        assert withdrawal == Notification(
            "notifications/cancelled", {"requestId": question.id, "reason": "the caller no longer waits"}
        )
        await client.say(Result(question.id, {"content": "too late"}))
        await client.ask("ping")
    assert settled == ["cancelled"]


async def test_a_client_that_leaves_ends_what_waits_for_it() -> None:
    server, failures = Server("asker"), list[str]()

    @server.tool
    async def ask(ctx: Context) -> None:
        try:
            await ctx.sample("x")
        except Exception as error:
            failures.append(str(error))
            raise

    with anyio.fail_after(5):
        async with raw_client(server, capabilities={"sampling": {}}) as client:
            await client.say(Request(1, "tools/call", {"name": "ask"}))
            await client.hear()
    assert failures == ["The connection is closed."]


async def test_what_runs_when_the_client_leaves_has_a_moment_to_finish() -> None:
    server, begun, finish = Server("slow"), anyio.Event(), anyio.Event()

    @server.tool
    async def work() -> str:
        begun.set()
        await finish.wait()
        return "done"

    with anyio.fail_after(5):
        async with memory(server) as channel:
            client = RawClient(channel, {})
            await client.say(Request(1, "tools/call", {"name": "work"}))
            await begun.wait()
            await channel.send_eof()
            finish.set()
            assert await client.answer_to(1) == Result(1, {"content": [{"type": "text", "text": "done"}]})
            with pytest.raises(anyio.EndOfStream):
                await channel.receive()
