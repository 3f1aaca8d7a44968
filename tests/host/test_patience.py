"""Time that begins anew with progress and stands still while the server waits for us."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from agent.host.patience import LONGEST_CALL, Patience

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr("agent.host.patience.anyio.current_time", clock)
    return clock


async def test_it_runs_from_the_start(clock: Clock) -> None:
    assert Patience(10).scope.deadline == 1010


async def test_progress_begins_it_anew(clock: Clock) -> None:
    patience = Patience(10)
    clock.now += 7
    patience.restart()
    assert patience.scope.deadline == 1017


async def test_it_stands_still_while_paused(clock: Clock) -> None:
    patience = Patience(10)
    clock.now += 4
    patience.pause()
    patience.pause()
    assert patience.scope.deadline == math.inf
    clock.now += 500
    patience.resume()
    patience.resume()
    assert patience.scope.deadline == clock.now + 6


async def test_progress_while_paused_does_not_end_the_pause(clock: Clock) -> None:
    patience = Patience(10)
    clock.now += 4
    patience.pause()
    patience.restart()
    assert patience.scope.deadline == math.inf
    patience.resume()
    assert patience.scope.deadline == clock.now + 10


async def test_no_progress_extends_it_beyond_the_longest_call(clock: Clock) -> None:
    patience = Patience(1000)
    for _ in range(4):
        clock.now += 880
        patience.restart()
    assert patience.scope.deadline == 1000 + LONGEST_CALL


async def test_it_tells_which_limit_was_met(clock: Clock) -> None:
    patience = Patience(1000)
    assert patience.limit == "1000 s"
    for _ in range(3):
        clock.now += 900
        patience.restart()
    assert (patience.limit, patience.scope.deadline) == (
        "3600 s, the longest that any call may take",
        1000 + LONGEST_CALL,
    )
    patience = Patience(10)
    patience.restart()
    assert patience.limit == "10 s of its last progress"
    assert Patience(LONGEST_CALL * 2).limit == "3600 s, the longest that any call may take"
