"""What a server says on its own, what it promises beforehand, and how it serves several messages at once."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import pytest

from agent.mcp import Context, Server, SignatureError
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from tests.mcp.raw_client import RawClient, raw_client
from tests.mcp.stateless_caller import caller

pytestmark = pytest.mark.anyio


def a_server(**options: Any) -> Server:
    server = Server("here", **options)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


async def test_a_log_goes_to_those_who_want_its_level() -> None:
    server = a_server()
    async with raw_client(server) as eager, raw_client(server, "2024-11-05") as calm, caller(server) as stateless:
        await calm.ask("logging/setLevel", {"level": "error"})
        server.log("warning", {"disk": 0.9}, logger="disk")
        await anyio.to_thread.run_sync(server.log, "error", "full")
        assert await eager.hear() == Notification(
            "notifications/message", {"level": "warning", "logger": "disk", "data": {"disk": 0.9}}
        )
        full = Notification("notifications/message", {"level": "error", "data": "full"})
        assert [await eager.hear(), await calm.hear()] == [full, full]
        await stateless.ask("tools/list")
        assert stateless.raw.told("notifications/message") == []


async def test_before_the_handshake_nobody_is_logged_to() -> None:
    server = a_server()
    async with raw_client(server, None) as client:
        server.log("emergency", "fire")
        await client.ask("ping")
        assert client.told("notifications/message") == []


async def test_of_logs_nobody_takes_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.server.connection.LOGS_KEPT", 2)
    server = a_server()
    async with raw_client(server) as client:
        for number in range(5):
            server.log("info", number)
        assert [(await client.hear()).params["data"] for _ in range(2)] == [3, 4]  # type: ignore[union-attr, index]


async def test_what_is_promised_is_declared_and_announced_when_it_comes() -> None:
    server = a_server(offers={"prompts"})
    async with raw_client(server, None) as client:
        begun = await client.ask("initialize", {"protocolVersion": "2025-11-25"})
        assert begun["capabilities"] == {
            "logging": {},
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
        }
        assert await client.ask("prompts/list") == {"prompts": []}

        @server.prompt
        async def review() -> str:
            return "Review."

        assert await client.hear() == Notification("notifications/prompts/list_changed", None)


async def test_a_completion_may_use_the_context_and_be_taken_back() -> None:
    server = a_server()

    @server.prompt
    async def review(focus: str) -> str:
        return focus

    @server.completion("review", "focus")
    async def focuses(ctx: Context, value: str) -> list[str]:
        return [f"{value} {ctx.client_info['name']}"]

    asked = {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "focus", "value": "x"}}
    async with raw_client(server) as client:
        assert (await client.ask("completion/complete", asked))["completion"]["values"] == ["x raw"]
        server.remove_completion("review", "focus")
        assert (await client.refusal("completion/complete", asked)).code == -32601
    with pytest.raises(KeyError):
        server.remove_completion("review", "focus")


# Several messages at once.


async def say(client: RawClient, *messages: Any) -> None:
    await client.channel.send(Envelope(messages, batch=True))


async def test_the_revision_that_has_batches_answers_one_with_one() -> None:
    async with raw_client(a_server(), "2025-03-26") as client:
        calls = [Request(id, "tools/call", {"name": "add", "arguments": {"a": id, "b": 1}}) for id in (1, 2)]
        await say(client, *calls, Notification("notifications/cancelled", {"requestId": 9}), Request(3, "nonsense"))
        item = await client.channel.receive()
    assert item.batch
    answers = sorted(item.messages, key=lambda message: message.id)
    assert [type(answer) for answer in answers] == [Result, Result, Failure]
    assert [answer.value["content"][0]["text"] for answer in answers[:2]] == ["2", "3"]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", None])
async def test_others_refuse_a_batch(revision: str | None) -> None:
    async with raw_client(a_server(), revision) as client:
        await say(client, Request(1, "ping"), Request(2, "ping"))
        refused = await client.hear()
        assert isinstance(refused, Failure)
        assert (refused.id, refused.code) == (None, -32600)
        assert await client.ask("ping") == {}


async def test_a_session_does_not_begin_in_a_batch() -> None:
    async with raw_client(a_server(), "2025-03-26") as client:
        await say(client, Request(1, "initialize", {"protocolVersion": "2025-03-26"}))
        refused = await client.hear()
    assert isinstance(refused, Failure)
    assert (refused.id, refused.code) == (1, -32600)


@pytest.mark.parametrize("function", [lambda: [], lambda a, b, c: [], lambda ctx: []])
async def test_a_completion_takes_the_text_and_what_is_known(function: Any) -> None:
    server = a_server()
    if function.__code__.co_varnames[:1] == ("ctx",):
        function.__annotations__ = {"ctx": Context}
    server.completion("review", "focus")(function)
    with pytest.raises(SignatureError, match="a completion takes the text so far, and the known arguments"):
        server.prepare()
