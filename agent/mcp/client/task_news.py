"""What a server tells of a task, so that it need not be asked all the time (the extension for tasks)."""

from __future__ import annotations

import anyio

from agent.mcp.jsonrpc import Params

TOLD_SECONDS = 5.0  # between two looks all the same, at a task whose changes are told: what is told may be lost

WHOLE = {"completed": "result", "failed": "error", "input_required": "inputRequests"}
"""What has to be told with a state for that to be all there is to know."""


class TaskNews:
    """The newest only: what is told of a task is its state, and what was before it does not matter."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._is_told = False
        self._newest: Params | None = None
        self._woken = anyio.Event()

    def turn(self, *, is_told: bool) -> None:
        """Changes are told from now on, or no longer. Those from before are seen by whoever looks."""
        if is_told != self._is_told:
            self._is_told = is_told
            self._woken.set()

    def tell(self, params: Params) -> None:
        status = params.get("status")
        if params.get("taskId") == self.id and isinstance(status, str):
            self._newest = params if WHOLE.get(status, "status") in params else None
            self._woken.set()

    async def next(self, poll: float) -> Params | None:
        """The task as it is told; None when it is time to look, `poll` seconds from now if nothing is told."""
        with anyio.move_on_after(max(poll, TOLD_SECONDS) if self._is_told else poll):
            await self._woken.wait()
        self._woken = anyio.Event()
        newest, self._newest = self._newest, None
        return newest
