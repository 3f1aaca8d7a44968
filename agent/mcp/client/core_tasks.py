"""Tools that run as tasks, as in revision 2025-11-25, where they are experimental (section "Utilities, Tasks")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from agent.mcp.client.tasks import cancel, look, read_task
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import Params, RequestId, as_request_id
from agent.mcp.lifecycle import Agreement, declares
from agent.mcp.peer import PROGRESS
from agent.mcp.session import OnProgress, OnSending

Request = Callable[[str, Params, OnProgress | None, OnSending | None], Awaitable[Any]]


def runs_tools(agreement: Agreement) -> bool:
    """Whether the server declared `tasks.requests.tools.call`."""
    return agreement.revision == "2025-11-25" and declares(agreement.capabilities, "tasks", "requests", "tools", "call")


def required(page: Any, agreement: Agreement) -> set[str]:
    """The tools in a page of `tools/list` whose `taskSupport` is `required`."""
    tools = page.get("tools") if isinstance(page, dict) and runs_tools(agreement) else None
    return {
        name
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
        and isinstance(name := tool.get("name"), str)
        and isinstance(execution := tool.get("execution"), dict)
        and execution.get("taskSupport") == "required"
    }


class LateProgress:
    """Progress of calls that became tasks: their progress tokens are valid until the task has ended."""

    def __init__(self) -> None:
        self._by_token: dict[RequestId, OnProgress] = {}

    @contextmanager
    def heard_by(self, on_progress: OnProgress) -> Iterator[OnSending]:
        """During the block, pass on the progress of each request whose id is given to the yielded function."""
        tokens: list[RequestId] = []

        def begin(token: RequestId) -> None:
            tokens.append(token)
            self._by_token[token] = on_progress

        try:
            yield begin
        finally:
            for token in tokens:
                del self._by_token[token]

    def hear(self, method: str, params: Params) -> Params:
        """Implements `agent.mcp.client.listener.Intercept`."""
        token = as_request_id(params.get("progressToken")) if method == PROGRESS else None
        if token is not None and (on_progress := self._by_token.get(token)):
            on_progress(params)
        return params


async def run(params: Params, request: Request, on_progress: OnProgress | None, late: LateProgress) -> Any:
    """The result of a call that runs as a task. An early exit, as by cancellation, cancels it.

    Input that the task requires is requested by the server as usual, once `tasks/result` is sent.
    """
    if on_progress is None:
        return await _result(await request("tools/call", {**params, "task": {}}, None, None), request, _ignore)
    reports = _Reports(on_progress)
    with late.heard_by(reports.hear) as begin:
        created = await request("tools/call", {**params, "task": {}}, reports.hear, begin)
        return await _result(created, request, reports.look)


class _Reports:
    """Reports the server's progress and, in between, each poll of the task, which shows that it still runs."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._heard: Params | None = None

    def hear(self, params: Params) -> None:
        self._heard = params
        self._on_progress(params)

    def look(self, looks: int, note: str) -> None:
        said = {"message": note} if note else {}
        self._on_progress({"progress": looks, "message": note} if self._heard is None else {**self._heard, **said})


def _ignore(looks: int, note: str) -> None:
    """The caller asked for no progress."""


async def _result(created: Any, request: Request, on_look: Callable[[int, str], None]) -> Any:
    raw = created.get("task") if isinstance(created, dict) else None
    if not isinstance(raw, dict):
        return created  # it ran at once, and this is the result

    async def send(method: str, params: Params) -> Any:
        return await request(method, params, None, None)

    task, looks, is_over = read_task(raw), 0, False
    try:
        while task.status == "working":
            on_look(looks, task.note)
            await anyio.sleep(task.poll)
            looks += 1
            task = await look(task.id, send)
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
