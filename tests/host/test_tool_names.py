"""Names every model accepts, that never meet."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host.tool_names import accepted_name, shown_name

ACCEPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("demo", "add", "demo__add"),
        ("a-b", "c_d", "a-b__c_d"),
        ("fs", "_x", "fs___x"),
        ("demo", "admin.tools.list", "demo__admin_tools_list_ad7e8b6b"),
        ("demo", "größe", "demo__gr__e_8a2d2b5c"),
        ("1st", "x", "_1st__x_d9d7bca9"),
    ],
)
def test_a_name_that_fits_is_kept_and_another_gets_a_hash(server: str, tool: str, name: str) -> None:
    shown = shown_name(server, tool)
    assert re.sub(r"[0-9a-f]{8}$", "", shown) == re.sub(r"[0-9a-f]{8}$", "", name)


def test_long_names_with_the_same_beginning_stay_apart() -> None:
    server, tool = "cloudflare-workers-observability", "query_worker_observability_metrics_by_script_name"
    first, second = shown_name(server, f"{tool}_v1"), shown_name(server, f"{tool}_v2")
    assert first != second
    assert (len(first), len(second)) == (64, 64)
    assert first == shown_name(server, f"{tool}_v1")


def test_no_two_pairs_share_a_name_where_underscores_could_be_read_twice() -> None:
    names = ["a", "a_", "_a", "a__b", "b", "_b", "__b", "a__", "b__a", "a.b", "a_b", "a b"]
    pairs = list(product(names, names))
    assert len({shown_name(*pair) for pair in pairs}) == len(pairs)


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=140))
def test_whatever_a_server_calls_its_tools_the_name_is_accepted(server: str, tool: str) -> None:
    assert ACCEPTED.fullmatch(shown_name(server, tool))
    assert ACCEPTED.fullmatch(accepted_name(tool))
