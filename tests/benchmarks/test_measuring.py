"""The arithmetic of the table of benchmarks, and its look."""

from __future__ import annotations

import pytest

from benchmarks.measuring import Row, Spread, interleaved
from benchmarks.table import line

OURS, THEIRS = Spread.of([0.002, 0.001, 0.004]), Spread.of([0.02, 0.03, 0.01])


def test_contenders_take_turns_after_each_has_warmed_up() -> None:
    turns: list[str] = []

    def measure(name: str) -> int:
        turns.append(name)
        return len(turns)

    found = interleaved({"a": lambda: measure("a"), "b": lambda: measure("b")}, 2)
    assert turns == ["a", "b", "a", "b", "a", "b"]
    assert found == {"a": [3, 5], "b": [4, 6]}


@pytest.mark.parametrize(("bar", "met"), [(None, None), (0.1, True), (0.099, False)])
def test_a_row_is_judged_by_the_ratio_of_medians(bar: float | None, met: bool | None) -> None:
    row = Row("calls", "s", OURS, "SDK", THEIRS, bar)
    assert (row.ratio, row.met) == (pytest.approx(0.1), met)
    assert row.as_json() == {
        "what": "calls",
        "unit": "s",
        "rival": "SDK",
        "ours": {"median": 0.002, "min": 0.001, "max": 0.004},
        "theirs": {"median": 0.02, "min": 0.01, "max": 0.03},
        "ratio": row.ratio,
        "bar": bar,
        "met": met,
    }


def test_a_line_shows_both_sides_with_their_spread() -> None:
    row = Row("calls", "s", OURS, "SDK", Spread(1.5, 1.25, 2), 0.5)
    assert " ".join(line(row).split()) == "calls 2 ms 1 ms … 4 ms SDK 1.5 s 1.25 s … 2 s 0.00133 ≤ 0.5 met"
    memory = Row("memory", "B", Spread(3 << 20, 0, 3 << 20), "message", Spread.of([1 << 20]), None)
    assert " ".join(line(memory).split()) == "memory 3 MiB 0 KiB … 3 MiB message 1 MiB 1 MiB … 1 MiB 3"
