"""Task records and their storage (extension `io.modelcontextprotocol/tasks`)."""

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
    """The store has no room for another task, and none of those stored has expired."""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task. `created` and `updated` are seconds since the epoch; it expires `seconds` after `created`.

    `questions` are the pending input requests; `result` is that of the tool, `error` a JSON-RPC error instead of it.
    `principal` is the caller it belongs to, if there is authentication.
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
        """The protocol's `Task`."""
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
        """The protocol's `DetailedTask`."""
        own: Mapping[Status, Json] = {
            "input_required": {"inputRequests": dict(self.questions)},
            "completed": {"result": self.result},
            "failed": {"error": self.error},
        }
        return self.summary() | own.get(self.status, {})


class TaskStore(Protocol):
    """Storage of a server's tasks.

    A saved record must be readable when `save` returns, and until it expires. With a store that is shared, every worker
    can answer `tasks/get`. `tasks/update` and `tasks/cancel` must reach the worker that runs the task: a load balancer
    can route them by the header `Mcp-Name`, which is the task's id.
    """

    async def save(self, record: TaskRecord) -> None:
        """Store a record, replacing an earlier one of the same id. Raises StoreFull."""
        ...

    async def load(self, id: str) -> TaskRecord | None:
        """The record, or None if there is none, or it has expired."""
        ...


class MemoryTaskStore:
    """Stores at most `limit` tasks in memory."""

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
