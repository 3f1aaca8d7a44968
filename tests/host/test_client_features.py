"""What is declared to servers, and what happens to their questions with the calls that they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from agent.chat.events import QuestionSettled
from agent.chat.questions import Answer
from agent.host.patience import Patience
from agent.mcp import McpError
from tests.host.asking import asking, call, config, person
from tests.host.scene import scene

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
