"""The rows as text: aligned columns, with the spread of each side beside its median."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measuring import Row, Spread

HEADINGS = ("what", "ours", "(min … max)", "rival", "theirs", "(min … max)", "ratio", "bar", "")
WIDTHS = (38, 9, 19, 14, 9, 19, 7, 7, 6)
VERDICTS = {None: "", True: "met", False: "missed"}
SCALES = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")), "B": ((1024 * 1024, "MiB"), (1024, "KiB"))}


def heading() -> str:
    return _line(HEADINGS)


def line(row: Row) -> str:
    bar = "" if row.bar is None else f"≤ {row.bar:.3g}"
    ours, theirs = _cells(row.ours, row.unit), _cells(row.theirs, row.unit)
    return _line((row.what, *ours, row.rival, *theirs, f"{row.ratio:.3g}", bar, VERDICTS[row.met]))


def _cells(spread: Spread, unit: str) -> Iterator[str]:
    yield _quantity(spread.median, unit)
    yield f"{_quantity(spread.least, unit)} … {_quantity(spread.most, unit)}"


def _quantity(value: float, unit: str) -> str:
    scale, name = next((step for step in SCALES[unit] if value >= step[0]), SCALES[unit][-1])
    return f"{value / scale:.3g} {name}"


def _line(cells: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
