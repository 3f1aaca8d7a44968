"""What comes back from a client as it went, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.server.seal import BrokenSeal, Seal, digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON, st.text())
def test_what_is_sealed_is_read_back(value: object, place: str) -> None:
    seal = Seal()
    assert seal.open(seal.close(value, place), place) == value


def test_workers_with_one_key_read_each_others_seals() -> None:
    assert Seal("secret").open(Seal(b"secret").close(1, "here"), "here") == 1


def test_without_a_key_nobody_else_reads_it() -> None:
    with pytest.raises(BrokenSeal, match="not sealed here"):
        Seal().open(Seal().close(1, "here"), "here")


@given(st.data())
def test_no_other_text_is_taken(data: st.DataObject) -> None:
    seal = Seal("secret", lambda: 0.0)
    genuine = seal.close({"paid": False}, "here")
    position = data.draw(st.integers(0, len(genuine) - 1))
    altered = (
        genuine[:position] + data.draw(st.characters(exclude_characters=genuine[position])) + genuine[position + 1 :]
    )
    with pytest.raises(BrokenSeal, match="not sealed here, or was altered"):
        seal.open(altered, "here")


@pytest.mark.parametrize("nonsense", ["", ".", "a.b", "e30.e30", "é.é", "\ud800", None, 7, {}, [], "x" * 100_000])
def test_nonsense_is_not_taken(nonsense: object) -> None:
    with pytest.raises(BrokenSeal, match="not sealed here"):
        Seal().open(nonsense, "here")


@pytest.mark.parametrize("tail", ["-TAMPERED", "=", " ", "\n", "A"])
def test_nothing_may_be_appended(tail: str) -> None:
    seal = Seal()
    with pytest.raises(BrokenSeal, match="not sealed here"):
        seal.open(seal.close(1, "here") + tail, "here")


def test_it_does_not_hold_for_ever_nor_elsewhere() -> None:
    now = 1_000.0
    seal = Seal("secret", lambda: now)
    sealed = seal.close("x", "here", seconds=60)
    with pytest.raises(BrokenSeal, match="belongs to another request"):
        seal.open(sealed, "there")
    now = 1_060.0
    assert seal.open(sealed, "here") == "x"
    now = 1_060.1
    with pytest.raises(BrokenSeal, match="too old"):
        seal.open(sealed, "here")


def test_a_digest_is_of_the_value_and_not_of_its_order() -> None:
    assert digest({"a": [1, {"b": 2, "c": 3}], "d": None}) == digest({"d": None, "a": [1, {"c": 3, "b": 2}]})
    assert len({digest(value) for value in ({}, [], None, "", "1", 1, [1], {"1": 1}, [1, 2], [2, 1])}) == 10
