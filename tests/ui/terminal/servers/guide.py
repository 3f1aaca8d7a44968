"""A server whose only tool runs as a task that never ends. It writes into the file `LOG` when it is cancelled."""

from __future__ import annotations

import os

import anyio

from agent.mcp import Context, Server

server = Server("guide")


@server.tool(task="required")
async def walk(ctx: Context) -> str:
    """Walk on and on."""
    try:
        await ctx.progress(1, None, "on the way")
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        note_down("cancelled")
        raise


def note_down(word: str) -> None:
    with open(os.environ["LOG"], "w") as file:
        file.write(word)


server.run()
