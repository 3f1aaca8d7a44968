"""Our client and a server of the official SDK, in both eras, over stdio and HTTP."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types import PromptArgument, TextContent

from agent.mcp.client.client import Client
from agent.mcp.envelope import Transport
from agent.mcp.errors import McpError
from agent.mcp.transports.http_client import http
from agent.mcp.transports.stdio import stdio
from tests.mcp.bridge import bridge

pytestmark = pytest.mark.anyio

PROTOCOLS = {"2025-11-25": "2025-11-25", "auto": "2026-07-28"}
"""What is asked for, and what comes of it."""


@asynccontextmanager
async def over_stdio() -> AsyncIterator[Transport]:
    yield stdio([sys.executable, "-m", "tests.mcp.official_server"])


@asynccontextmanager
async def over_http() -> AsyncIterator[Transport]:
    from tests.mcp.official_server import server

    async with bridge(server.streamable_http_app(host="127.0.0.1")) as network:
        yield http("http://127.0.0.1:8000/mcp", transport=network)


async def answer(method: str, params: Any) -> dict[str, Any]:
    if method == "elicitation/create":
        return {"action": "accept", "content": {"seat": f"4A for {params['message']}"}}
    return {"role": "assistant", "content": {"type": "text", "text": "time, crime"}, "model": "m"}


@pytest.mark.parametrize("reach", [over_stdio, over_http])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_everything_a_server_offers_and_asks_works(protocol: str, reach: Any) -> None:
    reports: list[Any] = []
    with anyio.fail_after(30):
        async with reach() as transport, Client(transport, answer=answer, protocol=protocol) as client:
            assert (client.server_info.name, client.instructions) == ("official", "Be kind.")
            assert client.revision == PROTOCOLS[protocol]
            assert [tool.name for tool in await client.list_tools()] == ["book", "rhyme", "work"]
            assert [resource.uri for resource in await client.list_resources()] == ["a://b"]
            assert [template.uri_template for template in await client.list_resource_templates()] == ["a://{name}/c"]
            [prompt] = await client.list_prompts()
            assert prompt.arguments == [PromptArgument(name="thing", required=True)]
            assert (await client.call_tool("book")).content == (TextContent(text="4A for Which seat?"),)
            assert (await client.call_tool("rhyme")).content == (TextContent(text="time, crime"),)
            worked = await client.call_tool("work", progress=lambda *report: reports.append(report))
            assert worked.structured_content == {"steps": 2}
            assert [content.uri for content in (await client.read_resource("a://x/c")).contents] == ["a://x/c"]
            [message] = (await client.get_prompt("ask", {"thing": "it"})).messages
            assert message.content == TextContent(text="Tell me of it.")
            assert (await client.call_tool("no such")).is_error
            with pytest.raises(McpError, match="no://such"):
                await client.read_resource("no://such")
            await client.ping()
    assert reports == [(1, 2, "step 1"), (2, 2, "step 2")]
