"""The measured programs, one order each: what is timed works."""

from __future__ import annotations

import pytest

from benchmarks.driving import http_pairs, stdio_pairs
from benchmarks.processes import KNOWN


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("name", ["ours/ours", pytest.param("sdk/sdk_text", marks=pytest.mark.long)])
def test_a_pair_obeys_every_order(name: str, era: str) -> None:
    with stdio_pairs(name, era=era) as pairs:
        measured = {
            what: pairs[name].measure(what, times=1, size=size)
            for what, size in (("echo", 0), ("burst", 3), ("large", 100_000), ("spawn", 0))
        }
    assert all(len(each.seconds) == 1 and each.middle > 0 for each in measured.values())


def test_bare_pipes_are_called_one_after_the_other() -> None:
    with stdio_pairs("raw/raw") as pairs:
        assert len(pairs["raw/raw"].measure("echo", 3).seconds) == 3


def test_a_server_listens_on_loopback() -> None:
    with http_pairs("ours/ours", era="handshake") as pairs:
        assert len(pairs["ours/ours"].measure("burst", 2, size=3).seconds) == 2


@pytest.mark.skipif(not KNOWN, reason="the system does not tell how much memory a process takes")
def test_memory_is_that_of_the_message() -> None:
    size = 4 * 1024 * 1024
    with stdio_pairs("ours/ours") as pairs:
        pairs["ours/ours"].measure("echo", 1)
        client, server = pairs["ours/ours"].peaks("large", size)
    assert size < client < 5 * size
    assert size < server < 5 * size
