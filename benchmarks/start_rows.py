"""Start times: a server up to its list of tools, and the program itself beside a bare Python interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory

from benchmarks.driving import ROOT, orders, stdio_pairs
from benchmarks.measuring import Row, Spread, interleaved

SPAWNS = 3  # starts in a round
PROGRAM = (sys.executable, "-m", "agent")
ONE_SHOT = (*PROGRAM, "-p", "echo hello", "-m", "mock/demo", "-y", "-s", "bundled:demo")
SECONDS = 60  # the timeout of one start


def spawn(rounds: int) -> Iterator[Row]:
    with stdio_pairs("ours/ours", "sdk/sdk") as pairs:
        found = interleaved(orders(pairs, "spawn", SPAWNS), rounds)
    spent = {name: Spread.of([each.middle for each in measured]) for name, measured in found.items()}
    yield Row("stdio, spawn, handshake, list tools", "s", spent["ours/ours"], "SDK", spent["sdk/sdk"], 1 / 2)


def program(rounds: int) -> Iterator[Row]:
    with TemporaryDirectory() as home:
        contenders = {
            "pass": _timed(home, sys.executable, "-c", "pass"),
            "version": _timed(home, *PROGRAM, "--version"),
            "help": _timed(home, *PROGRAM, "--help"),
            "one-shot": _timed(home, *ONE_SHOT),
        }
        found = {name: Spread.of(spent) for name, spent in interleaved(contenders, rounds).items()}
    yield Row("mcp-chat --version", "s", found["version"], "python -c pass", found["pass"], 2)
    yield Row("mcp-chat --help", "s", found["help"], "python -c pass", found["pass"], 5)
    yield Row("mcp-chat -p, mock model, demo server", "s", found["one-shot"], "python -c pass", found["pass"])


def _timed(home: str, *command: str) -> Callable[[], float]:
    """Run a command to its end, with an empty home directory, so that no user configuration has an influence."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHONDONT"))}

    def run() -> float:
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=kept | {"HOME": home}, check=True, capture_output=True, timeout=SECONDS)
        return time.perf_counter() - started

    return run
