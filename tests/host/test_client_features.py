"""What is declared to servers, and what happens to their questions with the calls that they belong to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from agent.chat.events import QuestionSettled, SampleFinished
from agent.chat.questions import Answer
from agent.host.config.models import ServerTable
from agent.host.patience import Patience
from agent.mcp import McpError, Server, memory
from agent.mcp.background import background
from agent.mcp.envelope import Channel, Envelope, Transport
from agent.mcp.jsonrpc import Failure, Notification, Request, Result
from agent.mcp.transports.memory import channel_pair
from tests.host.asking import asking, call, config, person
from tests.host.scene import configure, scene

pytestmark = pytest.mark.anyio

BOTH: dict[str, Any] = {"form": {}, "url": {}}
ROOTS: dict[str, Any] = {"listChanged": True}
TOOLS: dict[str, Any] = {"tools": {}}

# What is declared


@pytest.mark.parametrize(
    ("table", "interactive", "declared"),
    [
        ({}, True, {"sampling": TOOLS, "elicitation": BOTH, "roots": ROOTS}),
        ({}, False, {}),
        ({"sampling": "allow", "elicitation": "defaults"}, False, {"sampling": TOOLS, "elicitation": {"form": {}}}),
        ({"sampling": "deny", "elicitation": "decline"}, True, {"elicitation": BOTH, "roots": ROOTS}),
        ({"elicitation": "cancel"}, False, {"elicitation": BOTH}),
        ({"elicitation": "/answers"}, False, {"elicitation": {"form": {}}}),
        ({"elicitation": "/others"}, False, {}),
        ({"sampling": "manual"}, False, {}),
        ({"sampling": "allow", "context": True}, False, {"sampling": {"tools": {}, "context": {}}}),
        ({"roots": ["/srv"]}, False, {"roots": {}}),
    ],
)
async def test_only_what_can_be_answered_is_declared(
    table: dict[str, Any], interactive: bool, declared: dict[str, Any]
) -> None:
    answers = {"/answers": {"asking": {}}, "/others": {"another": {}}}
    chosen = replace(config({"protocol": "2025-11-25", **table}), answers=answers)
    async with scene(chosen, {"asking": asking}, person=person() if interactive else None) as view:
        result = await view.host.call_tool("offered")
    assert result.structured_content == declared


async def test_what_nobody_offers_is_refused_in_the_protocol_s_words() -> None:
    async with scene(config(), {"asking": asking}, person=person()) as view:
        answer = view.host.connections["asking"]._features.answer("asking")
        assert await answer("ping", {}) == {}
        with pytest.raises(McpError) as refused:
            await answer("tools/list", {})
    assert (refused.value.code, refused.value.message) == (-32601, "this client does not offer tools/list")


# Time and withdrawal


async def test_the_call_s_time_stands_still_while_its_question_is_open() -> None:
    async with scene(config(), {"asking": asking}, person=lambda question: None) as view:
        patience = Patience(120)
        connection = view.host.connections["asking"]
        answers: list[Any] = []

        async def book() -> None:
            answers.append(await connection.request("it", lambda client: client.call_tool("book"), patience))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(book)
            await view.until(lambda: view.open)
            assert patience.scope.deadline == float("inf")
            view.open[0].reply(Answer("decline"))
        assert patience.scope.deadline < float("inf")
        assert [answer.content[0].text for answer in answers] == ["decline"]


async def test_a_call_that_begins_while_a_question_is_open_waits_too() -> None:
    async with (
        scene(config(), {"asking": asking}, person=lambda question: None) as view,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(call, view, "book")
        await view.until(lambda: view.open)
        patience = Patience(120)
        await view.host.connections["asking"].request("it", lambda client: client.ping(), patience)
        assert patience.scope.deadline == float("inf")
        view.open[0].reply(Answer("decline"))


async def test_a_cancelled_call_withdraws_its_question() -> None:
    async with scene(config(), {"asking": asking}, person=lambda question: None) as view:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, view, "book")
            await view.until(lambda: view.open)
            tasks.cancel_scope.cancel()
        await view.until(lambda: view.events(QuestionSettled))
    [settled] = view.events(QuestionSettled)
    assert (settled.verdict, settled.by, view.open[0].open) == ("cancel", "withdrawn", False)


# Before there is a chat


class Eager:
    """A server that asks for a sample as soon as it may, and keeps the answer."""

    def __init__(self) -> None:
        self.asked, self.answer = anyio.Event(), list[Any]()

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Channel]:
        ours, theirs = channel_pair()
        async with ours, theirs, background() as tasks:
            tasks.start_soon(self._serve, theirs)
            yield ours

    async def _serve(self, channel: Channel) -> None:
        introduction = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "e", "version": "1"},
        }
        said = {"role": "user", "content": {"type": "text", "text": "hello"}}
        async for envelope in channel:
            for message in envelope.messages:
                match message:
                    case Request(id, "initialize"):
                        await channel.send(Envelope((Result(id, introduction),)))
                    case Request(id, method):
                        await channel.send(Envelope((Failure(id, -32601, f"no {method}"),)))
                    case Notification("notifications/initialized"):
                        asked = Request("q", "sampling/createMessage", {"messages": [said], "maxTokens": 9})
                        await channel.send(Envelope((asked,)))
                        self.asked.set()
                    case Result() | Failure():
                        self.answer.append(message)


async def test_what_a_server_asks_before_there_is_a_chat_is_answered_when_there_is() -> None:
    eager = Eager()

    @asynccontextmanager
    async def slow() -> AsyncIterator[Channel]:
        await eager.asked.wait()
        await anyio.wait_all_tasks_blocked()
        assert eager.answer == []
        async with memory(Server("slow")) as channel:
            yield channel

    def opened(table: ServerTable) -> Transport:
        return eager.transport() if table.command == "eager" else slow()

    both = configure({"eager": {"sampling": "allow"}, "slow": {}})
    async with scene(both, open_transport=opened) as view:
        await view.until(lambda: view.events(SampleFinished))
        await anyio.wait_all_tasks_blocked()
        [answer] = eager.answer
        assert isinstance(answer, Result)
        assert answer.value["content"] == {"type": "text", "text": "[mock] hello"}
