"""What the official suite wants to see of the tasks extension."""

from __future__ import annotations

import anyio

from agent.mcp import Context, McpError, Server
from tests.conformance.questions import ask_name, asking

INTERNAL_ERROR = -32603


async def greet(name: str) -> str:
    """Greet, at once."""
    return f"Hello, {name}!"


async def slow_compute(ctx: Context, seconds: float = 1, label: str = "") -> str:
    """Take some time."""
    await ctx.progress(0, seconds, "started")
    await anyio.sleep(seconds)
    return f"{label}: computed for {seconds:g} seconds"


async def failing_job() -> str:
    """Fail after a second, as a tool does."""
    await anyio.sleep(1)
    raise RuntimeError("The job failed.")


async def protocol_error_job() -> str:
    """Fail as the protocol does."""
    raise McpError(INTERNAL_ERROR, "The worker died.")


async def confirm_delete(ctx: Context, filename: str) -> str:
    """Ask before something is deleted."""
    answer = await ctx.elicit(f"Delete {filename}?", asking("confirm", "boolean"))
    deleted = answer.content is not None and answer.content["confirm"]
    return f"{filename} was {'deleted' if deleted else 'kept'}."


async def multi_input(ctx: Context) -> str:
    """Ask two things at once."""
    names: list[str] = []

    async def ask(number: int) -> None:
        names.append(await ask_name(ctx, f"name{number}", f"What is name {number}?"))

    async with anyio.create_task_group() as tasks:
        for number in (1, 2):
            tasks.start_soon(ask, number)
    return " and ".join(sorted(names))


async def test_tool_with_task(ctx: Context) -> str:
    """Ask first, then work as a task."""
    name = await ask_name(ctx)
    await ctx.begin_task()
    await anyio.sleep(0.1)
    return f"The work for {name} is done."


def register(server: Server) -> None:
    server.tool(greet)
    for job in (slow_compute, protocol_error_job, confirm_delete, multi_input):
        server.tool(task="optional")(job)
    server.tool(task="required")(failing_job)
    server.tool(task="required", asks_first=True)(test_tool_with_task)
