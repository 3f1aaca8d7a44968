"""A server that asks for everything a client can be asked for, and whoever calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent.chat.questions import Answer, Question
from agent.host.config.config import Config
from agent.mcp import Context, Server
from tests.host.scene import Scene, configure

ERAS = ["2025-11-25", "2026-07-28"]


@dataclass
class Seat:
    place: Literal["window", "aisle"]
    meal: bool = False


asking = Server("asking")


@asking.tool
async def offered(ctx: Context) -> dict[str, Any]:
    return {name: value for name, value in ctx.client_capabilities.items() if name != "extensions"}


@asking.tool
async def sample(ctx: Context, text: str, max_tokens: int = 100, hint: str = "") -> str:
    preferences = {"hints": [{"name": hint}]} if hint else None
    answer = await ctx.sample(text, max_tokens=max_tokens, model_preferences=preferences)
    return f"{answer.model} {answer.stop_reason}: {answer.text}"


@asking.tool
async def sample_often(ctx: Context, times: int) -> str:
    for number in range(times):
        await ctx.sample(str(number))
    return "done"


@asking.tool
async def sample_with_tools(ctx: Context) -> str:
    def lookup(city: str) -> str:
        return f"sunny in {city}"

    return (await ctx.sample("What is the weather in Kyoto?", tools=[lookup])).text


@asking.tool
async def book(ctx: Context) -> str:
    answer = await ctx.elicit("Which seat?", Seat)
    return f"{answer.content}" if answer.action == "accept" else answer.action


@asking.tool
async def ask(ctx: Context, schema: dict[str, Any], message: str = "Please") -> str:
    answer = await ctx.elicit(message, schema)
    return f"{answer.content}" if answer.action == "accept" else answer.action


@asking.tool
async def visit(ctx: Context, url: str = "https://example.com/auth?x=1") -> str:
    return (await ctx.visit("Sign in", url)).action


@asking.tool
async def roots(ctx: Context) -> str:
    return ", ".join(f"{root.name}={root.uri}" for root in await ctx.roots())


def config(table: Mapping[str, Any] | None = None, **sections: Any) -> Config:
    """With `asking` as the only server."""
    return configure({"asking": table or {}}, **sections)


async def call(view: Scene, tool: str, **arguments: Any) -> str:
    """What the tool said; an error of the server's as its sentence."""
    result = await view.host.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content)  # type: ignore[union-attr]


def person(**answers: Answer) -> Callable[[Question], Answer]:
    """Who accepts whatever is not named by its kind."""
    return lambda question: answers.get(type(question).__name__, Answer("accept"))


class Browser:
    """Opens pages for tests: remembers them, and fails if there is to be none."""

    def __init__(self, *, works: bool = True) -> None:
        self.works, self.opened = works, list[str]()

    async def __call__(self, url: str) -> bool:
        self.opened.append(url)
        return self.works
