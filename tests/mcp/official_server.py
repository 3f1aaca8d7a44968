"""A server written with the official SDK; as a program it serves stdio."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve, Sample
from mcp_types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("official", instructions="Be kind.")


class Seat(BaseModel):
    seat: str


def which_seat() -> Elicit[Seat]:
    return Elicit("Which seat?", Seat)


def rhyme_of_it() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(text="rhyme"))], max_tokens=5)


@server.tool()
async def book(seat: Annotated[Seat, Resolve(which_seat)]) -> str:
    return seat.seat


@server.tool()
async def rhyme(sample: Annotated[CreateMessageResult, Resolve(rhyme_of_it)]) -> str:
    assert isinstance(sample.content, TextContent)
    return sample.content.text


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


if __name__ == "__main__":
    server.run()
