"""What the mock is tested on: tools as our own server has them, tools of servers that are not ours, conversations."""

from __future__ import annotations

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agent.chat.messages import AssistantMessage, Content, Message, Stop, Text, ToolCall, ToolMessage, ToolResult, user
from agent.chat.provider import Finished, Request, TextDelta, ToolSpec
from agent.providers.mock.mock import MockProvider

FOREIGN: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("foreign_tools.json").read_text(encoding="utf-8")
)


def tool(name: str, description: str = "", **properties: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": list(properties)})


def foreign(server: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(f"{server}__{t['name']}", t["description"], t["inputSchema"]) for t in FOREIGN[server])


STRING, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
DEMO = (
    tool("demo__echo", "Say it back.", message=STRING),
    tool("demo__add", "Add two numbers.", a=INTEGER, b=INTEGER),
    tool("demo__long_task", "Work for a while.", seconds=NUMBER, steps=INTEGER),
    tool("demo__book_seat", "Book a seat on a train.", train=STRING),
    tool("demo__summarize", "Summarize a text.", text=STRING),
    tool("demo__plan_trip", "Plan a trip to a city.", city=STRING),
)
ALL = (*DEMO, *(spec for server in FOREIGN for spec in foreign(server)))


def ran(name: str, *content: Content | str, is_error: bool = False) -> tuple[Message, ...]:
    """What a conversation looks like once the tool has run."""
    parts = tuple(Text(part) if isinstance(part, str) else part for part in content)
    call = ToolCall.parse("mock_1", name, "{}")
    return (
        user("run it"),
        AssistantMessage((call,), Stop.TOOL_USE),
        ToolMessage((ToolResult("mock_1", parts, is_error),)),
    )


async def stream(request: Request, provider: MockProvider | None = None) -> tuple[list[str], Finished]:
    pieces: list[str] = []
    async with aclosing((provider or MockProvider("demo")).stream(request)) as items:
        async for item in items:
            match item:
                case TextDelta(text):
                    pieces.append(text)
                case Finished():
                    return pieces, item
    raise AssertionError("the stream had no end")
