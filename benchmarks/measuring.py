"""Contenders are measured in turn within every round, so that noise on the machine affects all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one contender's values over all rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: ours beside `rival`, in `unit`; less is better. `bar` is the highest ratio allowed."""

    what: str
    unit: str
    ours: Spread
    rival: str
    theirs: Spread
    bar: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours.median / self.theirs.median

    @property
    def met(self) -> bool | None:
        """Whether the ratio is within `bar`; None if there is no limit."""
        return None if self.bar is None else self.ratio <= self.bar

    def as_json(self) -> dict[str, Any]:
        spreads = {
            name: {"median": spread.median, "min": spread.least, "max": spread.most}
            for name, spread in (("ours", self.ours), ("theirs", self.theirs))
        }
        about = {"what": self.what, "unit": self.unit, "rival": self.rival}
        return about | spreads | {"ratio": self.ratio, "bar": self.bar, "met": self.met}


def interleaved(contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Run every contender once to warm up, then all of them in turn, `rounds` times."""
    for measure in contenders.values():
        measure()
    found: dict[str, list[T]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            found[name].append(measure())
    return found
