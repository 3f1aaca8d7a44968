"""A task as it is remembered, and where it is kept (extension `io.modelcontextprotocol/tasks`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

Json = dict[str, Any]
Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
FINAL = ("completed", "failed", "cancelled")


class StoreFull(RuntimeError):
    """There is no room for another task; none of those kept may be forgotten yet."""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task. `created` and `updated` are seconds since the epoch; `seconds` is how long it is kept from the first.

    `questions` are those without an answer; `result` is that of the tool, `error` a JSON-RPC error instead of it.
    `principal` is who may see it, if the server knows who calls.
    """

    id: str
    created: float
    updated: float
    seconds: float
    poll_seconds: float
    status: Status = "working"
    message: str | None = None
    questions: Mapping[str, Json] = field(default_factory=dict)
    result: Json | None = None
    error: Json | None = None
    principal: str | None = None

    def summary(self) -> Json:
        """What the creation of a task answers with (`Task`)."""
        told = {"statusMessage": self.message} if self.message else {}
        return {
            "taskId": self.id,
            "status": self.status,
            **told,
            "createdAt": _written(self.created),
            "lastUpdatedAt": _written(self.updated),
            "ttlMs": round(self.seconds * 1_000),
            "pollIntervalMs": round(self.poll_seconds * 1_000),
        }

    def details(self) -> Json:
        """All there is to know (`DetailedTask`)."""
        own: Mapping[Status, Json] = {
            "input_required": {"inputRequests": dict(self.questions)},
            "completed": {"result": self.result},
            "failed": {"error": self.error},
        }
        return self.summary() | own.get(self.status, {})


class TaskStore(Protocol):
    """Where a server keeps its tasks.

    What is saved must be there for whoever asks next, before `save` returns, and for the record's `seconds`. One that
    several workers share lets each of them answer `tasks/get`. Answers and cancellation are for the worker that runs
    the task: behind a balancer, `tasks/update` and `tasks/cancel` go by their header `Mcp-Name`, the task's id.
    """

    async def save(self, record: TaskRecord) -> None:
        """Keep a task, in the place of what was kept of it. Raises StoreFull."""
        ...

    async def load(self, id: str) -> TaskRecord | None:
        """The task, or None if there is none or its time is over."""
        ...


class MemoryTaskStore:
    """Keeps at most `limit` tasks, in this process."""

    def __init__(self, limit: int = 1_000, clock: Callable[[], float] = time.time) -> None:
        self._limit, self._clock = limit, clock
        self._records: dict[str, TaskRecord] = {}

    async def save(self, record: TaskRecord) -> None:
        if record.id not in self._records and len(self._records) >= self._limit:
            self._forget()
            if len(self._records) >= self._limit:
                raise StoreFull(f"This server keeps {self._limit} tasks already; try again later.")
        self._records[record.id] = record

    async def load(self, id: str) -> TaskRecord | None:
        record = self._records.get(id)
        return None if record is None or self._is_over(record) else record

    def _forget(self) -> None:
        self._records = {id: record for id, record in self._records.items() if not self._is_over(record)}

    def _is_over(self, record: TaskRecord) -> bool:
        return record.created + record.seconds < self._clock()


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
