"""Tests for agent.mcp.task_pool."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import anyio
import anyio.lowlevel
import pytest

from agent.mcp.background import background
from agent.mcp.task_pool import IDLE_KEPT, TaskPool

pytestmark = pytest.mark.anyio

colour: ContextVar[str] = ContextVar("colour", default="none")


class Jobs:
    """Notes in which task each of its jobs runs."""

    def __init__(self) -> None:
        self.tasks: list[int] = []
        self.done = anyio.Event()

    async def run(self) -> None:
        self.tasks.append(id(asyncio.current_task()))
        self.done.set()

    async def paint(self) -> None:
        self.tasks.append(id(asyncio.current_task()))
        colour.set("red")
        self.done.set()

    async def look(self, seen: list[str]) -> None:
        seen.append(colour.get())
        self.done.set()

    async def wait(self) -> None:
        with anyio.fail_after(5):
            await self.done.wait()
            await anyio.wait_all_tasks_blocked()
        self.done = anyio.Event()


async def test_jobs_one_after_the_other_share_a_task() -> None:
    jobs = Jobs()
    async with background() as tasks:
        pool = TaskPool(tasks)
        for _ in range(3):
            pool.start(jobs.run)
            await jobs.wait()
    assert len(jobs.tasks) == 3
    assert len(set(jobs.tasks)) == 1


async def test_jobs_at_the_same_time_run_in_tasks_of_their_own_of_which_some_are_kept() -> None:
    everyone, running = anyio.Event(), 0
    many = IDLE_KEPT + 10

    async def meet() -> None:
        nonlocal running
        running += 1
        if running == many:
            everyone.set()
        await everyone.wait()

    async with background() as tasks:
        pool = TaskPool(tasks)
        for _ in range(many):
            pool.start(meet)
        with anyio.fail_after(5):
            await everyone.wait()
            while len(tasks._tasks) > IDLE_KEPT:  # type: ignore[attr-defined]
                await anyio.lowlevel.checkpoint()
        assert len(tasks._tasks) == IDLE_KEPT  # type: ignore[attr-defined]


async def test_context_variables_of_one_job_are_not_seen_by_the_next() -> None:
    jobs, seen = Jobs(), list[str]()
    async with background() as tasks:
        pool = TaskPool(tasks)
        pool.start(jobs.paint)
        await jobs.wait()
        pool.start(jobs.look, seen)
        await jobs.wait()
    assert seen == ["none"]


async def test_what_a_job_raises_ends_the_group() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="broken")):
        async with anyio.create_task_group() as tasks, anyio.create_task_group() as forever:
            forever.start_soon(anyio.sleep_forever)
            TaskPool(tasks).start(fail)
