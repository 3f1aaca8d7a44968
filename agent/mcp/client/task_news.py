"""Notifications about a task, which make most polling unnecessary (the extension for tasks)."""

from __future__ import annotations

import anyio

from agent.mcp.jsonrpc import Params

TOLD_SECONDS = 5.0  # between two polls of a task whose changes are notified: a notification may be lost

WHOLE = {"completed": "result", "failed": "error", "input_required": "inputRequests"}
"""The member that a notification with this status needs to replace a poll."""


class TaskNews:
    """Keeps only the newest notification about a task: it contains the whole state."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._is_told = False
        self._newest: Params | None = None
        self._woken = anyio.Event()

    def turn(self, *, is_told: bool) -> None:
        """Whether changes are notified from now on. Earlier ones show in the next poll."""
        if is_told != self._is_told:
            self._is_told = is_told
            self._woken.set()

    def tell(self, params: Params) -> None:
        status = params.get("status")
        if params.get("taskId") == self.id and isinstance(status, str):
            self._newest = params if WHOLE.get(status, "status") in params else None
            self._woken.set()

    async def next(self, poll: float) -> Params | None:
        """The task as notified; None when it is time to poll, `poll` seconds from now if changes are not notified."""
        with anyio.move_on_after(max(poll, TOLD_SECONDS) if self._is_told else poll):
            await self._woken.wait()
        self._woken = anyio.Event()
        newest, self._newest = self._newest, None
        return newest
