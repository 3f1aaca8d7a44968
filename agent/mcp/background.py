"""A task group whose tasks run at most as long as a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group that is cancelled when its block ends. An exception of the block is raised as is, not in a group."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # raised again outside the task group, which would wrap it in an exception group
            raised = error
        finally:
            tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
