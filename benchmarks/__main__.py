"""`python -m benchmarks [--json FILE] [--only NAME]… [--rounds N]`: one table on stdout, each row as it is measured."""

from __future__ import annotations

import argparse
import compileall
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from benchmarks import http_rows, large_rows, start_rows, stdio_rows, stream_rows, table
from benchmarks.driving import ROOT
from benchmarks.measuring import Row

BENCHMARKS: Mapping[str, Callable[[int], Iterator[Row]]] = {
    "sequential": stdio_rows.sequential,
    "in-flight": stdio_rows.in_flight,
    "large": large_rows.large,
    "memory": large_rows.peak_memory,
    "http": http_rows.http,
    "spawn": start_rows.spawn,
    "program": start_rows.program,
    "streamed": stream_rows.streamed,
}
ROUNDS = 9


def main() -> int:
    arguments = _arguments()
    compile_both_sides()
    rows: list[Row] = []
    _say(table.heading())
    for name in arguments.only or BENCHMARKS:
        for row in BENCHMARKS[name](arguments.rounds):
            rows.append(row)
            _say(table.line(row))
    if arguments.json:
        arguments.json.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n")
    return 0


def compile_both_sides() -> None:
    """Write the bytecode of both sides first: compiling would make a start two to four times slower."""
    ours = [ROOT / name for name in ("agent", "servers", "benchmarks")]
    sdk = find_spec("mcp")
    for folder in [*ours, *(Path(found) for found in (sdk.submodule_search_locations or () if sdk else ()))]:
        compileall.compile_dir(folder, quiet=2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="repeatable")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{ROUNDS} by default")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
