"""Tools that run as tasks only, as revision 2025-11-25 has them (section "Utilities, Tasks"; experimental there)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from agent.mcp.client.tasks import cancel, read_task
from agent.mcp.jsonrpc import Params
from agent.mcp.lifecycle import Agreement, declares
from agent.mcp.session import McpError, OnProgress, Unreadable

Request = Callable[[str, Params, OnProgress | None], Awaitable[Any]]


def runs_tools(agreement: Agreement) -> bool:
    """Whether the server declared that it runs tools as tasks."""
    return agreement.revision == "2025-11-25" and declares(agreement.capabilities, "tasks", "requests", "tools", "call")


def required(page: Any, agreement: Agreement) -> set[str]:
    """The tools of a page of `tools/list` that cannot be called in any other way."""
    tools = page.get("tools") if isinstance(page, dict) and runs_tools(agreement) else None
    return {
        name
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
        and isinstance(name := tool.get("name"), str)
        and isinstance(execution := tool.get("execution"), dict)
        and execution.get("taskSupport") == "required"
    }


async def run(params: Params, request: Request, on_progress: OnProgress | None) -> Any:
    """The result of a call that runs as a task. Leaving early cancels it.

    What the server wants to know in between it asks as always, as soon as it is asked for the result.
    """

    async def send(method: str, params: Params) -> Any:
        return await request(method, params, None)

    created = await request("tools/call", {**params, "task": {}}, on_progress)
    raw = created.get("task") if isinstance(created, dict) else None
    if not isinstance(raw, dict):
        return created  # it ran at once, and this is the result
    task, looks, is_over = read_task(raw), 0, False
    try:
        while task.status == "working":
            if on_progress:
                on_progress({"progress": looks, "message": task.note})
            await anyio.sleep(task.poll)
            looks += 1
            task = read_task(await send("tasks/get", {"taskId": task.id}))
        is_over = task.status != "input_required"
        if task.status == "cancelled":
            raise Unreadable(f"The server cancelled the task{f': {task.note}' if task.note else '.'}")
        result = await send("tasks/result", {"taskId": task.id})
        is_over = True
    except McpError:
        is_over = True
        raise
    finally:
        if not is_over:
            await cancel(task.id, send)
    return result
