"""Tasks: tool calls that continue after their response (extension `io.modelcontextprotocol/tasks`, 2026-07-28).

The record of a task is stored before the client is sent its id. In a task a function that asks the client waits for
the answer; it is not interrupted and run again.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.lowlevel

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, Params
from agent.mcp.lifecycle import Capabilities, declares
from agent.mcp.protocol import MISSING_CAPABILITY, TASKS_EXTENSION
from agent.mcp.server.ledger import Ledger, checked
from agent.mcp.server.service import Json, Life
from agent.mcp.server.task_store import FINAL, StoreFull, TaskRecord, TaskStore

logger = logging.getLogger(__name__)

TASK_SECONDS = 3_600.0  # for a task to run, and to be kept
POLL_SECONDS = 1.0  # between two polls by a client
SAVE_SECONDS = 5.0  # for the store to save the final state

Run = Callable[["TaskDialogue"], Awaitable[Json]]


@dataclass(slots=True)
class Question:
    """An input request that is pending; `answer` is valid once `answered` is set."""

    asked: Json
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None


class TaskDialogue:
    """The `Dialogue` of one running task. `ledger` has the answers that were given before the call became a task."""

    is_task = True

    def __init__(self, record: TaskRecord, save: Callable[[TaskRecord], Awaitable[None]], ledger: Ledger) -> None:
        self.record, self._save, self._ledger = record, save, ledger
        self.scope = anyio.CancelScope()
        self._open: dict[str, Question] = {}
        self._saving = anyio.Lock()

    async def ask(self, method: str, params: Params | None, key: str | None) -> Any:
        name = self._ledger.name(key)
        question: Json = {"method": method} if params is None else {"method": method, "params": params}
        known = self._ledger.recall(name, question)
        if known is not None:
            return known
        waiting = self._open[name] = Question(question)
        try:
            await self.update()
            await waiting.answered.wait()
        finally:
            if self._open.pop(name, None):  # the function was cancelled
                with anyio.move_on_after(SAVE_SECONDS, shield=True):
                    await self.update()
        return waiting.answer

    async def tell(self, method: str, params: Params) -> None:
        """Progress becomes the status message; other notifications are not sent in a task."""
        await anyio.lowlevel.checkpoint()
        if method == "notifications/progress":
            done, total = params["progress"], params.get("total")
            share = f"{done:g}" if total is None else f"{done:g} of {total:g}"
            await self.update(message=params.get("message") or share)

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        return await self._ledger.once(key, compute)

    async def begin_task(self) -> None:
        """Nothing to do: it is a task already."""

    async def release(self) -> None:
        """Nothing to do: a task has no response stream."""

    async def take(self, answers: Mapping[str, Any]) -> None:
        """Accept `inputResponses`; those that match no pending request are ignored.

        Raises:
            McpError: one is malformed.
        """
        fitting = {name: checked(name, self._open[name].asked, answers[name]) for name in answers if name in self._open}
        for name, answer in fitting.items():
            question = self._open.pop(name)
            question.answer = answer
            question.answered.set()
        if fitting:
            await self.update()

    async def update(self, **changed: Any) -> None:
        """Store the current state, unless the task has reached a final one."""
        if self.record.status in FINAL:
            return
        questions = {name: question.asked for name, question in self._open.items()}
        now = {"status": "input_required" if questions else "working", "questions": questions, "updated": time.time()}
        self.record = replace(self.record, **(now | changed))
        async with self._saving:  # saves must not overtake each other
            await self._save(self.record)


class KeptTasks:
    """The tasks of a server. `announce(id)` notifies subscribers of a change; times are in seconds."""

    def __init__(
        self,
        store: TaskStore,
        announce: Callable[[str], None],
        seconds: float = TASK_SECONDS,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._store, self._announce, self._seconds, self._poll_seconds = store, announce, seconds, poll_seconds
        self._running: dict[str, TaskDialogue] = {}

    async def begin(self, run: Run, ledger: Ledger, principal: str | None, life: Life) -> Json:
        """Start `run` as a task; the result is a `CreateTaskResult`. Raises McpError if the store is full."""
        now = time.time()
        record = TaskRecord(secrets.token_urlsafe(24), now, now, self._seconds, self._poll_seconds, principal=principal)
        try:
            await self._save(record)
        except StoreFull as full:
            raise McpError(INTERNAL_ERROR, str(full)) from full
        dialogue = self._running[record.id] = TaskDialogue(record, self._save, ledger)
        life.tasks.start_soon(self._run, dialogue, run)
        return {"resultType": "task", **record.summary()}

    async def get(self, params: Params, principal: str | None) -> Json:
        return (await self._find(params, principal)).details()

    async def update(self, params: Params, principal: str | None) -> Json:
        record = await self._find(params, principal)
        answers = params.get("inputResponses")
        if not isinstance(answers, dict):
            raise McpError(INVALID_PARAMS, "inputResponses must be an object")
        if running := self._running.get(record.id):
            await running.take(answers)
        return {}

    async def cancel(self, params: Params, principal: str | None) -> Json:
        """Cancel the task, unless it has reached a final state."""
        record = await self._find(params, principal)
        if running := self._running.get(record.id):
            running.scope.cancel()
        return {}

    async def peek(self, id: object, principal: str | None) -> TaskRecord | None:
        """The task, or None if there is none with that id, or it belongs to another principal."""
        record = await self._store.load(id) if isinstance(id, str) else None
        return record if record and record.principal == principal else None

    async def _find(self, params: Params, principal: str | None) -> TaskRecord:
        record = await self.peek(params.get("taskId"), principal)
        if record is None:
            raise McpError(INVALID_PARAMS, f"There is no task {params.get('taskId')!r}.")
        return record

    async def _run(self, dialogue: TaskDialogue, run: Run) -> None:
        try:
            await self._work(dialogue, run)
        except Exception:  # the store may raise anything; other tasks must go on
            logger.exception("keeping task %s", dialogue.record.id)

    async def _work(self, dialogue: TaskDialogue, run: Run) -> None:
        outcome: Json = {"status": "cancelled"}
        try:
            with dialogue.scope, anyio.move_on_after(self._seconds):
                outcome = await self._outcome(dialogue, run)
        finally:
            del self._running[dialogue.record.id]
            with anyio.move_on_after(SAVE_SECONDS, shield=True):
                await dialogue.update(questions={}, **outcome)

    async def _outcome(self, dialogue: TaskDialogue, run: Run) -> Json:
        try:
            return {"status": "completed", "result": await run(dialogue)}
        except McpError as error:
            data = {} if error.data is None else {"data": error.data}
            return {"status": "failed", "error": {"code": error.code, "message": error.message, **data}}
        except Exception:  # there is no session any more that would catch it
            logger.exception("running a task")
            return {"status": "failed", "error": {"code": INTERNAL_ERROR, "message": "Internal error"}}

    async def _save(self, record: TaskRecord) -> None:
        await self._store.save(record)
        self._announce(record.id)


def require_tasks(capabilities: Capabilities) -> None:
    """Raises McpError (-32021) if the client did not declare the tasks extension in this request."""
    if not declares(capabilities, "extensions", TASKS_EXTENSION):
        needed: Json = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
        raise McpError(
            MISSING_CAPABILITY, f"This needs a client that declares the extension {TASKS_EXTENSION}.", needed
        )
