"""Sampling with tools: functions run for the client's model, definitions left to the author."""

from __future__ import annotations

from typing import Any

import pytest

from agent.mcp import Context, Server
from agent.mcp.server.context import TOOL_ROUNDS
from agent.mcp.server.sampling import tool_answer
from tests.mcp.raw_client import raw_client, text_of

pytestmark = pytest.mark.anyio

CAPABILITIES = {"sampling": {"tools": {}}}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def use(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def wanting(*uses: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(uses), "model": "m", "stopReason": "toolUse"}


DONE = {"role": "assistant", "content": {"type": "text", "text": "Take a coat."}, "model": "m", "stopReason": "endTurn"}


def planner() -> Server:
    server = Server("planner")

    @server.tool
    async def plan(ctx: Context, city: str) -> str:
        def weather(city: str) -> str:
            """The weather."""
            if city == "Atlantis":
                raise LookupError("it sank")
            return f"{city}: rain"

        async def where(ctx: Context) -> list[str]:
            return [ctx.revision]

        return (await ctx.sample(f"Plan {city}", tools=[weather, where], max_tokens=99)).text

    return server


async def test_functions_are_run_until_the_model_answers() -> None:
    replies = [wanting(use("1", "weather", city="Oslo"), use("2", "where")), DONE]
    answers = {"sampling/createMessage": lambda _: replies.pop(0)}
    async with raw_client(planner(), capabilities=CAPABILITIES, answers=answers) as client:
        assert text_of(await client.call("plan", city="Oslo")) == "Take a coat."
    first, second = client.told("sampling/createMessage")
    question = {"role": "user", "content": {"type": "text", "text": "Plan Oslo"}}
    assert first["messages"] == [question]
    assert first["tools"] == [
        {"name": "weather", "description": "The weather.", "inputSchema": WEATHER | {"additionalProperties": False}},
        {"name": "where", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False}},
    ]
    assert "toolChoice" not in first
    assert second == first | {
        "messages": [
            question,
            {"role": "assistant", "content": [use("1", "weather", city="Oslo"), use("2", "where")]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "Oslo: rain"}]},
                    {"type": "tool_result", "toolUseId": "2", "content": [{"type": "text", "text": '["2025-11-25"]'}]},
                ],
            },
        ],
        "toolChoice": {"mode": "auto"},
    }


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (use("1", "weather", city="Atlantis"), "it sank"),
        (use("1", "weather", city=7), "city: Input should be a valid string (got 7)"),
        ({"type": "tool_use", "id": "1", "name": "weather", "input": None}, "city is missing"),
    ],
)
async def test_a_failure_is_for_the_model_to_read(wish: dict[str, Any], words: str) -> None:
    replies = [wanting(wish), DONE]
    answers = {"sampling/createMessage": lambda _: replies.pop(0)}
    async with raw_client(planner(), capabilities=CAPABILITIES, answers=answers) as client:
        await client.call("plan", city="x")
    (answered,) = client.told("sampling/createMessage")[1]["messages"][2]["content"]
    assert answered == {
        "type": "tool_result",
        "toolUseId": "1",
        "content": [{"type": "text", "text": words}],
        "isError": True,
    }


async def test_a_model_that_never_ends_is_told_to() -> None:
    answers = {"sampling/createMessage": lambda _: wanting(use("1", "where"))}
    async with raw_client(planner(), capabilities=CAPABILITIES, answers=answers) as client:
        assert text_of(await client.call("plan", city="x")) == ""
    asked = client.told("sampling/createMessage")
    assert len(asked) == TOOL_ROUNDS
    assert [params.get("toolChoice", {}).get("mode") for params in asked] == [
        None,
        *["auto"] * (TOOL_ROUNDS - 2),
        "none",
    ]


async def test_uses_of_definitions_come_back_to_the_author() -> None:
    server = Server("planner")
    tool = {"name": "weather", "inputSchema": WEATHER}

    @server.tool
    async def plan(ctx: Context) -> str:
        question: Any = ("user", "Plan")
        asked = await ctx.sample(question, tools=[tool], tool_choice="required")
        answers = [tool_answer(wish, [{"type": "text", "text": wish.input["city"]}]) for wish in asked.tool_uses]
        told = await ctx.sample([question, asked.message, ("user", answers)], tools=[tool])
        return told.text

    replies = [wanting(use("a", "weather", city="Oslo"), use("b", "weather", city="Rome")), DONE]
    sent: list[dict[str, Any]] = []

    def answer(params: dict[str, Any]) -> Any:
        sent.append(params)
        return replies.pop(0)

    answers = {"sampling/createMessage": answer}
    async with raw_client(server, capabilities=CAPABILITIES, answers=answers) as client:
        assert text_of(await client.call("plan")) == "Take a coat."
    assert sent[0]["toolChoice"] == {"mode": "required"}
    assert [block["toolUseId"] for block in sent[1]["messages"][2]["content"]] == ["a", "b"]
