"""Tasks that live exactly as long as a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group that is cancelled when its block ends. What the block raises comes out as it is, not in a group."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # not handled here, only carried past the group, which would wrap it
            raised = error
        finally:
            tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
