"""A server that asks the person while another tool of its works: `slow` ends once `ask` has been answered.

`leave` ends the server.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from agent.mcp import Context, Server

SEATS = [{"const": "w", "title": "窓側"}, {"const": "a", "title": "通路側"}]
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"type": "string", "title": "座席", "oneOf": SEATS},
        "name": {"type": "string", "title": "お名前", "minLength": 2},
    },
    "required": ["place", "name"],
}


@asynccontextmanager
async def answered(server: Server) -> AsyncIterator[anyio.Event]:
    yield anyio.Event()


server = Server("counter", lifespan=answered)


@server.tool
async def slow(ctx: Context) -> str:
    """Work until the person has answered."""
    await ctx.progress(1, 4, "半分まで")
    await ctx.lifespan.wait()
    return "worked"


@server.tool
async def ask(ctx: Context) -> str:
    """Ask for a seat."""
    seat = await ctx.elicit("どの席にしますか", FORM)
    ctx.lifespan.set()
    return f"{seat.action} {(seat.content or {}).get('name', '')}"


@server.tool
async def leave() -> str:
    """Exit in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    server.run()
