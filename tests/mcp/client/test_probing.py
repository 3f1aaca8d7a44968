from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.client.probing import (
    Again,
    Modern,
    Older,
    is_modern_refusal,
    newest,
    read_discovery,
    read_refusal,
    undeclared,
)
from agent.mcp.lifecycle import Agreement, HandshakeFailed
from tests.mcp.modern_server import META, REVISION, discovered

UNSUPPORTED = -32022

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from([REVISION, "2025-11-25"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_a_discovery_says_all_there_is_to_know() -> None:
    said = discovered("2025-11-25", REVISION, capabilities={"tools": {"listChanged": True}}, instructions="Be kind.")
    assert read_discovery(said) == Modern(
        Agreement(REVISION, {"tools": {"listChanged": True}}, {"name": "modern", "version": "0"}, "Be kind.")
    )


@pytest.mark.parametrize(
    "said",
    [
        {"supportedVersions": [REVISION]},
        {"supportedVersions": [REVISION], "resultType": None, "_meta": None, "capabilities": None},
        {"supportedVersions": [REVISION, 3, None], "_meta": {META + "serverInfo": "me"}},
    ],
)
def test_what_is_missing_from_a_discovery_is_empty(said: Any) -> None:
    assert read_discovery(said) == Modern(Agreement(REVISION))


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        "yes",
        {},
        {"supportedVersions": []},
        {"supportedVersions": "2026-07-28"},
        {"supportedVersions": [REVISION], "resultType": "input_required"},
        {"protocolVersion": "2025-11-25", "capabilities": {}},
    ],
)
def test_nonsense_is_of_an_older_server(said: Any) -> None:
    assert read_discovery(said) == Older()


@pytest.mark.parametrize("supported", [["2025-11-25"], ["2024-11-05", "2027-01-01"]])
def test_one_that_lists_only_the_handshake_wants_a_handshake(supported: list[str]) -> None:
    assert read_discovery(discovered(*supported)) == Older(UNSUPPORTED)
    assert read_refusal(UNSUPPORTED, "no", {"supported": supported}) == Older(UNSUPPORTED)


def test_one_from_the_future_is_named_beside_us() -> None:
    sentence = (
        "The server speaks protocol version 2027-01-01, x; "
        "this program speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28."
    )
    for read in (
        lambda: read_discovery(discovered("2027-01-01", "x")),
        lambda: read_refusal(UNSUPPORTED, "no", {"supported": ["2027-01-01", "x"]}),
    ):
        with pytest.raises(HandshakeFailed) as caught:
            read()
        assert str(caught.value) == sentence


def test_a_version_error_is_of_the_stateless_era_and_says_what_to_ask_for() -> None:
    assert read_refusal(UNSUPPORTED, "no", {"supported": ["2025-11-25", REVISION]}) == Again(REVISION)
    with pytest.raises(HandshakeFailed, match="The server refused protocol version 2026-07-28: try another"):
        read_refusal(UNSUPPORTED, "try another", None)


@pytest.mark.parametrize("code", [-32020, -32021])
def test_other_errors_of_the_stateless_era_prove_it_too(code: int) -> None:
    assert read_refusal(code, "no", None) == Modern(undeclared())
    assert undeclared() == Agreement(REVISION, declared=False)


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000, -32001, -32003, -32004, 0, 404])
def test_any_other_error_proves_nothing(code: int) -> None:
    assert read_refusal(code, "no", {"supported": [REVISION]}) == Older(code)


@pytest.mark.parametrize(
    ("code", "data", "modern"),
    [
        (-32601, None, True),
        (UNSUPPORTED, {"supported": [REVISION]}, True),
        (UNSUPPORTED, {"supported": ["2025-11-25"]}, False),
        (UNSUPPORTED, "x", False),
        (-32602, {"supported": [REVISION]}, False),
    ],
)
def test_how_the_stateless_era_refuses_a_handshake(code: int, data: Any, modern: bool) -> None:
    assert is_modern_refusal(code, data) is modern


def test_the_newest_revision_of_both_is_chosen() -> None:
    assert newest(["2025-11-25", REVISION, "2027-01-01"]) == REVISION
    assert newest(["2025-11-25"]) is None


@given(JSON, st.integers())
def test_whatever_comes_is_read(value: Any, code: int) -> None:
    for read in (lambda: read_discovery(value), lambda: read_refusal(code, "no", value)):
        with suppress(HandshakeFailed):
            assert isinstance(read(), Modern | Again | Older)
