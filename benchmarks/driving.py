"""Starts a measured client and its server as separate processes, and sends the client orders."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import processes

ROOT = Path(__file__).parent.parent
STARTING_SECONDS, LEAVING_SECONDS = 30, 10


@dataclass(frozen=True, slots=True)
class Measured:
    """`seconds` of each repetition by the client's clock; `cpu`: processor seconds of client and server together."""

    seconds: list[float]
    cpu: float

    @property
    def middle(self) -> float:
        return median(self.seconds)


def program(end: str) -> list[str]:
    """The command that runs a module of `benchmarks.ends`."""
    return [sys.executable, "-m", f"benchmarks.ends.{end}"]


class Pair:
    """A client process that takes orders, and its server. `server` is the server's process id if it is no child."""

    def __init__(self, name: str, client: subprocess.Popen[str], server: int | None) -> None:
        self._name, self._client, self._server = name, client, server

    def measure(self, what: str, times: int, size: int = 0) -> Measured:
        before = self._cpu()
        assert self._client.stdin
        assert self._client.stdout
        self._client.stdin.write(json.dumps({"what": what, "size": size, "times": times}) + "\n")
        self._client.stdin.flush()
        answer = self._client.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._name} ended before it had answered {what!r}.")
        return Measured(json.loads(answer), self._cpu() - before)

    def peaks(self, what: str, size: int) -> list[float]:
        """The peak memory of each process during one order, in bytes above what it held before."""
        held = []
        for pid in self.pids:
            processes.forget_peak(pid)
            held.append(processes.peak_bytes(pid))
        self.measure(what, 1, size)
        return [processes.peak_bytes(pid) - before for pid, before in zip(self.pids, held, strict=True)]

    @property
    def pids(self) -> list[int]:
        return [*processes.family(self._client.pid), *([self._server] if self._server else [])]

    def _cpu(self) -> float:
        return sum(map(processes.cpu_seconds, self.pids)) if processes.KNOWN else 0.0


@contextmanager
def pair(client: str, target: Sequence[str], era: str, server: int | None = None) -> Iterator[Pair]:
    """Start a client of `benchmarks.ends` for a server: the server's command, or its URL and process id."""
    command = [*program(client), era, *target]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Pair(client, process, server)
    finally:
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVING_SECONDS)
        ended(process)
        process.stdout.close()


@contextmanager
def listening(server: str) -> Iterator[tuple[str, int]]:
    """Start a server of `benchmarks.ends` on loopback. Yields its URL and its process id."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    process = subprocess.Popen([*program(server), "--http", address], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        _await_listener(address)
        yield f"http://{address}/mcp", process.pid
    finally:
        ended(process)


def _await_listener(address: str) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + STARTING_SECONDS
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def ended(process: subprocess.Popen[Any]) -> None:
    """Terminate a process, and kill it if it does not exit in time."""
    process.terminate()
    try:
        process.wait(LEAVING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


Opened = dict[str, Pair]


@contextmanager
def stdio_pairs(*names: str, era: str = "handshake") -> Iterator[Opened]:
    """Pairs by name, `client/server`: "ours/ours", "sdk/ours", "raw/raw"."""
    with ExitStack() as stack:
        opened = {}
        for name in names:
            client, _, server = name.partition("/")
            opened[name] = stack.enter_context(pair(f"{client}_client", program(f"{server}_server"), era))
        yield opened


@contextmanager
def http_pairs(*names: str, era: str) -> Iterator[Opened]:
    """The same pairs over Streamable HTTP on loopback."""
    with ExitStack() as stack:
        opened = {}
        for name in names:
            client, _, server = name.partition("/")
            url, pid = stack.enter_context(listening(f"{server}_server"))
            opened[name] = stack.enter_context(pair(f"{client}_client", [url], era, pid))
        yield opened


def orders(pairs: Opened, what: str, times: int, size: int = 0) -> dict[str, Callable[[], Measured]]:
    """The same order for each pair, as contenders for `interleaved`."""
    return {name: partial(each.measure, what, times, size) for name, each in pairs.items()}
