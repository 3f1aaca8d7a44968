"""Large results over stdio: their time, and the peak memory of client and server."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import processes
from benchmarks.driving import orders, stdio_pairs
from benchmarks.measuring import Row, Spread, interleaved

MIB = 1024 * 1024
SIZES = {1 * MIB: 5, 16 * MIB: 1}
"""Bytes of ASCII text in a result, and the number of such results in a round."""


def large(rounds: int) -> Iterator[Row]:
    """Ours beside the SDK's default, which sends every text twice, and beside the SDK configured to send it once."""
    with stdio_pairs("ours/ours", "sdk/sdk", "sdk/sdk_text") as pairs:
        for size, times in SIZES.items():
            found = interleaved(orders(pairs, "large", times, size), rounds)
            spent = {name: Spread.of([each.middle for each in measured]) for name, measured in found.items()}
            what = f"stdio, result of {size // MIB} MiB"
            yield Row(what, "s", spent["ours/ours"], "SDK", spent["sdk/sdk"], 1 / 3)
            yield Row(what, "s", spent["ours/ours"], "SDK, text once", spent["sdk/sdk_text"], 1 / 3)


def peak_memory(rounds: int) -> Iterator[Row]:
    """The peak memory of our client and server for one message, beside the size of the message itself."""
    if not processes.KNOWN:
        return
    for size in SIZES:
        with stdio_pairs("ours/ours") as pairs:
            ours = pairs["ours/ours"]
            ours.measure("echo", 1)
            peaks = [max(ours.peaks("large", size)) for _ in range(rounds)]
        exact = Spread.of([float(size)])
        yield Row(f"stdio, peak memory for {size // MIB} MiB", "B", Spread.of(peaks), "message", exact, 4)
