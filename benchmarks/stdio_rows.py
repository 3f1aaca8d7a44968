"""Calls over stdio: sequential, concurrent, and each library's client with the other's server."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import processes
from benchmarks.driving import Measured, orders, stdio_pairs
from benchmarks.measuring import Row, Spread, interleaved

CALLS = 200  # calls in a sequential round
IN_FLIGHT = 64
BURSTS = 20


def sequential(rounds: int) -> Iterator[Row]:
    """The median time of a call in a round of sequential calls."""
    yield from _handshake(rounds)
    with stdio_pairs("ours/ours", "sdk/sdk", era="stateless") as pairs:
        found = interleaved(orders(pairs, "echo", CALLS), rounds)
    p50 = {name: Spread.of([measured.middle for measured in each]) for name, each in found.items()}
    yield Row("stdio, stateless era, sequential, p50", "s", p50["ours/ours"], "SDK", p50["sdk/sdk"], 1 / 5)


def _handshake(rounds: int) -> Iterator[Row]:
    with stdio_pairs("ours/ours", "sdk/sdk", "raw/raw", "ours/sdk", "sdk/ours") as pairs:
        found = interleaved(orders(pairs, "echo", CALLS), rounds)
    p50 = {name: Spread.of([measured.middle for measured in each]) for name, each in found.items()}
    yield Row("stdio, sequential call, p50", "s", p50["ours/ours"], "SDK", p50["sdk/sdk"], 1 / 5)
    yield Row("stdio, sequential call, p50", "s", p50["ours/ours"], "raw pipes", p50["raw/raw"], 3)
    yield Row("our client, SDK's server, p50", "s", p50["ours/sdk"], "SDK", p50["sdk/sdk"], 1)
    yield Row("SDK's client, our server, p50", "s", p50["sdk/ours"], "SDK", p50["sdk/sdk"], 1)
    if processes.KNOWN:
        cpu = {name: _cpu(each, CALLS) for name, each in found.items()}
        yield Row("stdio, processor time per call", "s", cpu["ours/ours"], "SDK", cpu["sdk/sdk"])
        yield Row("stdio, processor time per call", "s", cpu["ours/ours"], "raw pipes", cpu["raw/raw"])


def in_flight(rounds: int) -> Iterator[Row]:
    """The time of a burst of calls, all of them sent before the first response."""
    with stdio_pairs("ours/ours", "sdk/sdk") as pairs:
        found = interleaved(orders(pairs, "burst", BURSTS, IN_FLIGHT), rounds)
    per_call = {name: Spread.of([each.middle / IN_FLIGHT for each in measured]) for name, measured in found.items()}
    what = f"stdio, {IN_FLIGHT} in flight, time per call"
    yield Row(what, "s", per_call["ours/ours"], "SDK", per_call["sdk/sdk"], 1 / 8)


def _cpu(measured: list[Measured], calls: int) -> Spread:
    return Spread.of([each.cpu / calls for each in measured])
