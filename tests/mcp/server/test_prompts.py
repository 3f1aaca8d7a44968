"""Prompts and completions, as a client gets them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.mcp import McpError, Server
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from agent.mcp.server.content import Audio
from tests.mcp.raw_client import raw_client

pytestmark = pytest.mark.anyio


def a_reviewer() -> Server:
    server = Server("reviewer")

    @server.prompt(title="Review")
    async def review(code: str, focus: str = "style", depth: int = 1) -> list[Any]:
        """Review code.

        Args:
            code: The code
        """
        return [f"Review {code}, {focus}, {depth + 1}", ("assistant", "Gladly.")]

    @server.prompt
    async def broken() -> str:
        raise RuntimeError("no ink")

    @server.prompt
    async def refusing() -> str:
        raise McpError(-31000, "not today")

    @server.completion("review", "focus")
    async def focus(value: str) -> list[str]:
        return [word for word in ("speed", "style") if word.startswith(value)]

    @server.completion("review", "code")
    def code(value: str, known: dict[str, str]) -> list[str]:
        return [f"{value}{known.get('focus', '')}{number}" for number in range(150)]

    return server


async def test_a_prompt_is_described_and_filled_in() -> None:
    async with raw_client(a_reviewer()) as client:
        listed = await client.ask("prompts/list")
        assert listed["prompts"][0] == {
            "name": "review",
            "title": "Review",
            "description": "Review code.",
            "arguments": [
                {"name": "code", "description": "The code", "required": True},
                {"name": "focus", "required": False},
                {"name": "depth", "required": False},
            ],
        }
        assert await client.ask("prompts/get", {"name": "review", "arguments": {"code": "x=1", "depth": "2"}}) == {
            "description": "Review code.",
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Review x=1, style, 3"}},
                {"role": "assistant", "content": {"type": "text", "text": "Gladly."}},
            ],
        }


@pytest.mark.parametrize(("revision", "type"), [("2024-11-05", "text"), ("2025-03-26", "audio")])
async def test_a_prompt_speaks_the_revision(revision: str, type: str) -> None:
    server = Server("loud")

    @server.prompt
    async def listen() -> Audio:
        return Audio(b"RIFF")

    async with raw_client(server, revision) as client:
        (message,) = (await client.ask("prompts/get", {"name": "listen"}))["messages"]
    assert message["content"]["type"] == type


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"name": "nothing"}, -32602, "Unknown prompt: nothing"),
        ({"name": "review"}, -32602, "Invalid arguments for prompt review: code is missing."),
        ({"name": "review", "arguments": {"code": "", "depth": "x"}}, -32602, "Invalid arguments for prompt review: d"),
        ({"name": "refusing"}, -31000, "not today"),
        ({"name": "broken"}, -32603, "prompt broken failed: no ink"),
    ],
)  # fmt: skip
async def test_a_prompt_that_cannot_be_had_is_an_error(params: dict[str, Any], code: int, words: str) -> None:
    async with raw_client(a_reviewer()) as client:
        refusal = await client.refusal("prompts/get", params)
    assert refusal.code == code
    assert refusal.message.startswith(words)


def completing(argument: str, value: str, **more: Any) -> dict[str, Any]:
    return {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": argument, "value": value}, **more}


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_arguments_are_completed(revision: str) -> None:
    async with raw_client(a_reviewer(), revision) as client:
        assert await client.ask("completion/complete", completing("focus", "st")) == {
            "completion": {"values": ["style"], "total": 1, "hasMore": False}
        }
        assert await client.ask("completion/complete", completing("depth", "")) == {
            "completion": {"values": [], "total": 0, "hasMore": False}
        }


async def test_a_completion_knows_the_other_arguments_and_sends_a_hundred_values_at_most() -> None:
    async with raw_client(a_reviewer()) as client:
        known = {"arguments": {"focus": "style"}}
        found = (await client.ask("completion/complete", completing("code", "x", context=known)))["completion"]
    assert found["values"] == [f"xstyle{number}" for number in range(100)]
    assert (found["total"], found["hasMore"]) == (150, True)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/tool", "name": "review"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "focus"}},
        {"ref": {"type": "ref/prompt", "name": "review"}},
    ],
)
async def test_a_malformed_completion_is_an_error(params: Any) -> None:
    async with raw_client(a_reviewer()) as client:
        assert (await client.refusal("completion/complete", params)).code == -32602
