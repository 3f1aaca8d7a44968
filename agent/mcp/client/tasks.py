"""Calls that the server runs as tasks, client side (extension `io.modelcontextprotocol/tasks`).

The server may answer `tools/call` with a task instead of a result. We follow it until it is done, by notifications and
polling, answer its input requests, and cancel it if the caller is cancelled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import anyio

from agent.mcp.client.input_requests import Handle, InputRequests, answer_all, read_input_requests
from agent.mcp.client.task_news import TaskNews
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import NO_CODE, Params, as_failure
from agent.mcp.lifecycle import NotOffered
from agent.mcp.protocol import INPUT_REQUIRED
from agent.mcp.session import OnProgress

POLL_SECONDS = 0.5  # between two polls, where the server does not say
SHORTEST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.05, 60.0
GRACE_SECONDS = 5.0  # past its time to live, before a task is abandoned
FAREWELL_SECONDS = 1.0  # for cancelling a task
CANNOT_CANCEL = (McpError, ConnectionLost, Unreadable, NotOffered)
LOST_IN_A_ROW = 3  # polls that may fail before the task is abandoned

Send = Callable[[str, Params], Awaitable[dict[str, Any]]]
Following = Callable[[str], AbstractContextManager[TaskNews]]


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the server describes it. Times are in seconds; `lives`, its `ttlMs`, is None if it is kept for ever."""

    id: str
    status: str
    note: str
    poll: float
    lives: float | None
    raw: Mapping[str, Any]

    @property
    def input_requests(self) -> InputRequests:
        return read_input_requests("tasks/get", self.raw.get("inputRequests"))


def read_task(raw: Any) -> Task:
    """A task in the shape of the extension, or of revision 2025-11-25. Raises Unreadable if it is malformed."""
    raw = raw if isinstance(raw, dict) else {}
    id, status, note = raw.get("taskId"), raw.get("status"), raw.get("statusMessage")
    if not isinstance(id, str) or not isinstance(status, str):
        raise Unreadable("The server answered with a task that has no id or no status.")
    poll = _seconds(raw.get("pollIntervalMs", raw.get("pollInterval")))
    return Task(
        id,
        status,
        note if isinstance(note, str) else "",
        POLL_SECONDS if poll is None else max(SHORTEST_POLL_SECONDS, min(poll, LONGEST_POLL_SECONDS)),
        _seconds(raw.get("ttlMs", raw.get("ttl"))),
        raw,
    )


async def follow(
    created: Mapping[str, Any], send: Send, handle: Handle, following: Following, on_progress: OnProgress | None = None
) -> Mapping[str, Any]:
    """The result of the call that became this task. An early exit, as by cancellation, cancels the task.

    `send` sends a request, `handle` answers its input requests, `following` subscribes to the task with an id.

    Raises:
        McpError: the task failed, or the server does not know it any more.
        Unreadable: the server cancelled it, or did not finish it in time, or an answer is malformed.
        InputRefused: an input request was refused by this client.
        ConnectionLost: the connection was lost.
    """
    task = read_task(created)
    watch = _Watch(task.id, send, handle, on_progress)
    try:
        with following(task.id) as news:
            return await watch.result(task, news)
    finally:
        if not watch.is_over:
            await cancel(task.id, send)


class _Watch:
    def __init__(self, id: str, send: Send, handle: Handle, on_progress: OnProgress | None) -> None:
        self._id, self._send, self._handle, self._on_progress = id, send, handle, on_progress
        self._answered: set[str] = set()
        self._looks = 0
        self.is_over = False

    async def result(self, task: Task, news: TaskNews) -> Mapping[str, Any]:
        began = anyio.current_time()
        while not self._ends(task):
            if task.lives is not None and anyio.current_time() > began + task.lives + GRACE_SECONDS:
                raise Unreadable("The server did not finish the task in the time that it set for it.")
            self._report(task)
            if task.status == INPUT_REQUIRED and await self._answer(task):
                task = await self._look()
                continue
            told = await news.next(task.poll)
            task = await self._look() if told is None else self._read(told)
        return _outcome(task)

    def _ends(self, task: Task) -> bool:
        self.is_over = task.status in ("completed", "failed", "cancelled") and self._looks > 0
        return self.is_over

    def _report(self, task: Task) -> None:
        """Every poll counts as progress; it carries the status message."""
        if self._on_progress:
            self._on_progress({"progress": self._looks, "message": task.note})

    async def _answer(self, task: Task) -> bool:
        """Whether there was anything new to answer: a request stays listed until its response has arrived."""
        requests = {key: asked for key, asked in task.input_requests.items() if key not in self._answered}
        if requests:
            answers = await answer_all(requests, self._handle)
            self._answered |= answers.keys()
            await self._send("tasks/update", {"taskId": self._id, "inputResponses": answers})
        return bool(requests)

    def _read(self, told: Mapping[str, Any]) -> Task:
        self._looks += 1
        return read_task(told)

    async def _look(self) -> Task:
        self._looks += 1
        return await look(self._id, self._send)


async def look(id: str, send: Send) -> Task:
    """Poll a task. Raises ConnectionLost only if it is lost several times in a row: the task goes on meanwhile."""
    for _ in range(LOST_IN_A_ROW - 1):
        with suppress(ConnectionLost):
            return read_task(await send("tasks/get", {"taskId": id}))
        await anyio.sleep(POLL_SECONDS)
    return read_task(await send("tasks/get", {"taskId": id}))


def _outcome(task: Task) -> Mapping[str, Any]:
    if task.status == "completed":
        result = task.raw.get("result")
        if not isinstance(result, dict):
            raise Unreadable("The server finished the task without a result.")
        return result
    said = f": {task.note}" if task.note else "."
    if task.status == "cancelled":
        raise Unreadable(f"The server cancelled the task{said}")
    error = task.raw.get("error")
    if not (isinstance(error, dict) and isinstance(error.get("message"), str)):
        raise McpError(NO_CODE, f"The task failed{said}")
    failure = as_failure(error, None)
    raise McpError(failure.code, failure.message, failure.data)


async def cancel(id: str, send: Send) -> None:
    """Cancel a task, within FAREWELL_SECONDS; failures are ignored."""
    with anyio.move_on_after(FAREWELL_SECONDS, shield=True), suppress(*CANNOT_CANCEL):
        await send("tasks/cancel", {"taskId": id})


def _seconds(milliseconds: Any) -> float | None:
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1_000 if is_number else None
