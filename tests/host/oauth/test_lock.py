"""One at a time, across tasks and processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from agent.host.oauth.lock import exclusive

pytestmark = pytest.mark.anyio

HOLDER = """
import sys, anyio
from pathlib import Path
from agent.host.oauth.lock import exclusive
async def hold():
    async with exclusive(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.readline()
anyio.run(hold)
"""


async def test_two_tasks_take_turns(tmp_path: Path) -> None:
    seen: list[str] = []

    async def one() -> None:
        async with exclusive(tmp_path / "deep" / "lock"):
            seen.append("in")
            await anyio.lowlevel.checkpoint()
            seen.append("out")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
    assert seen == ["in", "out", "in", "out"]


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until it is killed."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stdout.readline() == b"held\n"
        yield running
        running.kill()


async def test_another_process_is_waited_for_and_a_dead_one_lets_go(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(TimeoutError):
        async with exclusive(tmp_path / "lock", 0.05):
            pass
    holder.kill()
    with anyio.fail_after(5):
        async with exclusive(tmp_path / "lock"):
            pass
