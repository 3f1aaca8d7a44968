"""Calls over Streamable HTTP on loopback, client and server of the same library, uvicorn, both protocol eras."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.driving import http_pairs, orders
from benchmarks.measuring import Row, Spread, interleaved
from benchmarks.stdio_rows import IN_FLIGHT

ERAS = ("handshake", "stateless")
CALLS = 50  # calls in a sequential round
BURSTS = 3


def http(rounds: int) -> Iterator[Row]:
    for era in ERAS:
        with http_pairs("ours/ours", "sdk/sdk", era=era) as pairs:
            found = interleaved(orders(pairs, "echo", CALLS), rounds)
            p50 = {name: Spread.of([each.middle for each in measured]) for name, measured in found.items()}
            yield Row(f"HTTP, {era}, sequential, p50", "s", p50["ours/ours"], "SDK", p50["sdk/sdk"], 1 / 2)
            found = interleaved(orders(pairs, "burst", BURSTS, IN_FLIGHT), rounds)
            each = {name: Spread.of([burst.middle / IN_FLIGHT for burst in bursts]) for name, bursts in found.items()}
            what = f"HTTP, {era}, {IN_FLIGHT} in flight, per call"
            yield Row(what, "s", each["ours/ours"], "SDK", each["sdk/sdk"], 1 / 3)
