"""Our client and a server of the official SDK, over stdio."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest
from mcp_types import PromptArgument, TextContent

from agent.mcp.client import Client
from agent.mcp.session import McpError
from agent.mcp.transports.stdio import stdio

pytestmark = pytest.mark.anyio

PROGRAM = """
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("official", instructions="Be kind.")

class Seat(BaseModel):
    seat: str

@server.tool()
async def book(ctx: Context) -> str:
    return (await ctx.elicit("Which seat?", Seat)).data.seat

@server.tool()
async def rhyme(ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="rhyme"))
    return (await ctx.session.create_message(messages=[message], max_tokens=5)).content.text

@server.tool()
async def work(ctx: Context) -> dict[str, int]:
    for step in (1, 2):
        await ctx.report_progress(step, 2, f"step {step}")
    return {"steps": 2}

@server.resource("a://b")
def text() -> str:
    return "text of b"

@server.resource("a://{name}/c")
def named(name: str) -> str:
    return name

@server.prompt()
def ask(thing: str) -> str:
    return f"Tell me of {thing}."

server.run()
"""


async def answer(method: str, params: Any) -> dict[str, Any]:
    if method == "elicitation/create":
        return {"action": "accept", "content": {"seat": f"4A for {params['message']}"}}
    return {"role": "assistant", "content": {"type": "text", "text": "time, crime"}, "model": "m"}


async def test_everything_a_server_offers_and_asks_works() -> None:
    reports: list[Any] = []
    with anyio.fail_after(30):
        async with Client(stdio([sys.executable, "-c", PROGRAM]), answer=answer) as client:
            assert (client.server_info.name, client.revision, client.instructions) == (
                "official",
                "2025-11-25",
                "Be kind.",
            )
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
