"""The official SDK's client against our server, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio

DEMO = StdioServerParameters(command=sys.executable, args=["-m", "servers.demo"])


@asynccontextmanager
async def connected(mode: str = "auto", **callbacks: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(20):
        async with Client(DEMO, mode=mode, **callbacks) as client:
            yield client


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_it_finds_everything(mode: str, revision: str) -> None:
    async with connected(mode) as client:
        assert client.protocol_version == revision
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"echo", "add", "long_task", "book_seat", "summarize", "plan_trip"} <= tools
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["code_review"]
        resources = await client.list_resources()
        assert str(resources.resources[0].uri) == "file:///data/readme.txt"
        assert len((await client.list_resource_templates()).resource_templates) == 1
        completed = await client.complete(
            mcp_types.PromptReference(type="ref/prompt", name="code_review"), {"name": "focus", "value": "s"}
        )
        assert completed.completion.values == ["security", "style"]


async def test_it_validates_structured_results() -> None:
    async with connected() as client:
        result = await client.call_tool("add", {"a": 3, "b": 5})
        assert result.structured_content == {"result": 8}
        assert (await client.call_tool("add", {"a": "three"})).is_error


async def test_it_hears_of_progress() -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with connected() as client:
        result = await client.call_tool("long_task", {"seconds": 0.02, "steps": 2}, progress_callback=on_progress)
    assert result.content[0].text == "Done: 2 steps in 0.02 seconds."
    assert heard == [(1, 2, "step 1 of 2"), (2, 2, "step 2 of 2")]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_its_model_is_asked(mode: str) -> None:
    async def sampling(context: Any, params: mcp_types.CreateMessageRequestParams) -> mcp_types.CreateMessageResult:
        assert params.max_tokens == 200
        return mcp_types.CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(type="text", text="Short."),
            model="m",
            stop_reason="endTurn",
        )

    async with connected(mode, sampling_callback=sampling) as client:
        assert (await client.call_tool("summarize", {"text": "long"})).content[0].text == "Short."


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_its_person_is_asked(mode: str) -> None:
    async def elicit(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult(action="accept", content={"place": "aisle", "meal": True})

    async with connected(mode, elicitation_callback=elicit) as client:
        result = await client.call_tool("book_seat", {"train": "ICE 9"})
    assert result.content[0].text == "Booked on ICE 9: aisle, with a meal."


async def test_a_call_it_gives_up_does_not_disturb_the_next() -> None:
    async with connected() as client:
        with anyio.move_on_after(0.2):
            await client.call_tool("long_task", {"seconds": 30, "steps": 30})
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"result": 2}
