from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from agent.mcp.lifecycle import (
    HANDSHAKE_REVISIONS,
    NEEDED,
    Agreement,
    HandshakeFailed,
    accept,
    at_least,
    declared_for,
    declares,
    next_offer,
    objection,
    offer,
    offers,
    refused,
    settle,
    shaped,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(HANDSHAKE_REVISIONS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FULL = {
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "tasks": {"list": {}},
    "experimental": {"x": {}},
}


@pytest.mark.parametrize(
    ("revision", "minimum", "answer"),
    [
        ("2025-11-25", "2025-06-18", True),
        ("2025-06-18", "2025-06-18", True),
        ("2025-03-26", "2025-06-18", False),
        ("2026-07-28", "2024-11-05", True),
        ("9999-99-99", "2024-11-05", False),
        ("", "2024-11-05", False),
    ],
)
def test_revisions_are_compared_by_their_place_in_the_list(revision: str, minimum: str, answer: bool) -> None:
    assert at_least(revision, minimum) is answer


def test_an_offer_names_revision_capabilities_and_client() -> None:
    assert offer("2025-11-25", {"roots": {}}, {"name": "c", "version": "1"}) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
    }


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ("2025-11-25", FULL),
        (
            "2025-06-18",
            {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}, "experimental": {"x": {}}},
        ),
        ("2025-03-26", {"sampling": {}, "roots": {"listChanged": True}, "experimental": {"x": {}}}),
        ("2024-11-05", {"sampling": {}, "roots": {"listChanged": True}, "experimental": {"x": {}}}),
    ],
)
def test_capabilities_have_the_shape_of_the_revision(revision: str, expected: dict[str, Any]) -> None:
    assert declared_for(revision, FULL) == expected


def test_a_capability_that_is_none_is_not_declared() -> None:
    assert declared_for("2025-11-25", {"roots": None, "sampling": {}}) == {"sampling": {}}
    assert declared_for("2024-11-05", {"roots": {}}) == {"roots": {}}


def test_an_answer_is_read_whole() -> None:
    answer = {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": True, "prompts": None, "logging": False, "resources": {"subscribe": True}, "x": 1},
        "serverInfo": {"name": "s"},
        "instructions": "Be kind.",
    }
    assert accept(answer) == Agreement(
        "2024-11-05", {"tools": {}, "resources": {"subscribe": True}, "x": 1}, {"name": "s"}, "Be kind."
    )


def test_all_but_the_revision_may_be_missing_or_misshapen() -> None:
    bare = Agreement("2025-03-26", {}, {}, None)
    assert accept({"protocolVersion": "2025-03-26"}) == bare
    assert accept({"protocolVersion": "2025-03-26", "capabilities": [], "serverInfo": "s", "instructions": 5}) == bare


@given(JSON)
def test_whatever_the_answer_is_it_is_an_agreement_or_a_sentence(answer: Any) -> None:
    try:
        assert accept(answer).revision in HANDSHAKE_REVISIONS
    except HandshakeFailed as error:
        assert str(error).endswith("this program speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25.")  # noqa: PT017


@pytest.mark.parametrize(
    ("message", "data", "offered", "expected"),
    [
        ("no", {"supported": ["2024-11-05", "2025-06-18"]}, ["2025-11-25"], "2025-06-18"),
        ("no", {"supported": ["2025-06-18"]}, ["2025-11-25", "2025-06-18"], "2025-03-26"),
        ("no", {"supported": ["2026-07-28"]}, ["2025-11-25"], None),
        ("no", {"supported": ["2025-11-25"]}, ["2025-11-25"], "2025-06-18"),
        ("supported versions: 2025-03-26, 2024-11-05", None, ["2025-11-25"], "2025-03-26"),
        ("unsupported: 2025-11-25", None, ["2025-11-25"], "2025-06-18"),
        ("Unsupported Version", None, ["2025-11-25"], "2025-06-18"),
        ("Unsupported version", {"supported": "2024-11-05"}, ["2025-11-25"], "2025-06-18"),
        ("Unsupported version", {"supported": [None, {}, 5]}, ["2025-11-25"], None),
        ("version", None, list(reversed(HANDSHAKE_REVISIONS)), None),
        ("not today", None, ["2025-11-25"], None),
        ("not today", {"supported": []}, ["2025-11-25"], None),
    ],
)
def test_what_to_offer_next(message: str, data: Any, offered: list[str], expected: str | None) -> None:
    assert next_offer(message, data, offered) == expected


@given(st.text(), JSON, st.lists(st.sampled_from(HANDSHAKE_REVISIONS)))
def test_offers_come_to_an_end(message: str, data: Any, offered: list[str]) -> None:
    for _ in range(5):
        if (another := next_offer(message, data, offered)) is None:
            return
        assert another not in offered
        offered = [*offered, another]
    raise AssertionError("it goes on for ever")


def test_a_refused_handshake_names_what_was_offered() -> None:
    assert str(refused("no", ["a", "b"])) == "The server refused protocol version a, b: no"


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_server_echoes_a_revision_it_speaks(revision: str) -> None:
    assert settle(revision) == revision


@pytest.mark.parametrize("revision", ["banana", "2026-07-28", "", None, 5, [], {}])
def test_a_server_answers_any_other_with_its_newest(revision: Any) -> None:
    assert settle(revision) == "2025-11-25"


@pytest.mark.parametrize("method", [*NEEDED, "ping"])
def test_a_method_is_offered_if_its_capability_was_declared(method: str) -> None:
    capabilities = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}, "completions": {}}
    capabilities["tasks"] = {"cancel": {}}
    assert offers(Agreement("2025-11-25", capabilities), method)
    assert offers(Agreement("2025-11-25", {}), method) is (method == "ping")
    assert offers(Agreement("2025-11-25", {"resources": {}}), method) is (
        method == "ping" or NEEDED[method] == ("resources",)
    )


def test_the_first_revision_has_completion_without_a_capability() -> None:
    assert offers(Agreement("2024-11-05", {}), "completion/complete")
    assert not offers(Agreement("2025-03-26", {}), "completion/complete")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ((), True),
        (("resources",), True),
        (("resources", "subscribe"), True),
        (("resources", "listChanged"), False),
        (("resources", "subscribe", "deep"), False),
        (("tools",), False),
        (("nothing",), False),
    ],
)
def test_declarations_are_found_by_path(path: tuple[str, ...], answer: bool) -> None:
    capabilities = {"resources": {"subscribe": True, "listChanged": False}, "tools": None}
    assert declares(capabilities, *path) is answer


FORM = "elicitation/create"
SAMPLE = "sampling/createMessage"


@pytest.mark.parametrize(
    ("method", "params", "declared", "revision", "expected"),
    [
        (SAMPLE, {}, FULL, "2025-11-25", None),
        (SAMPLE, {"tools": [], "toolChoice": None}, {"sampling": {}}, "2025-11-25", None),
        (SAMPLE, {"tools": [{}]}, FULL, "2025-11-25", None),
        (SAMPLE, {"tools": [{}]}, {"sampling": {}}, "2025-11-25", INVALID_PARAMS),
        (SAMPLE, {"toolChoice": {"mode": "auto"}}, {"sampling": {}}, "2025-11-25", INVALID_PARAMS),
        (SAMPLE, {"tools": [{}]}, FULL, "2025-06-18", INVALID_PARAMS),
        (FORM, {}, {"elicitation": {}}, "2025-11-25", None),
        (FORM, {"mode": None}, {"elicitation": {}}, "2025-11-25", None),
        (FORM, {"mode": "form"}, {"elicitation": {"url": {}}}, "2025-11-25", INVALID_PARAMS),
        (FORM, {"mode": "url"}, {"elicitation": {}}, "2025-11-25", INVALID_PARAMS),
        (FORM, {"mode": "url"}, FULL, "2025-11-25", None),
        (FORM, {"mode": "url"}, FULL, "2025-06-18", INVALID_PARAMS),
        (FORM, {"mode": ["url"]}, FULL, "2025-11-25", INVALID_PARAMS),
        (FORM, {}, FULL, "2025-03-26", METHOD_NOT_FOUND),
        ("roots/list", {}, FULL, "2024-11-05", None),
        ("roots/list", {}, {}, "2025-11-25", METHOD_NOT_FOUND),
        ("tools/list", {}, FULL, "2025-11-25", METHOD_NOT_FOUND),
    ],
)
def test_what_was_not_declared_is_refused_with_its_code(
    method: str, params: dict[str, Any], declared: dict[str, Any], revision: str, expected: int | None
) -> None:
    refusal = objection(method, params, declared, revision)
    assert (refusal and refusal[0]) == expected


TEXT, MORE, IMAGE = {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image", "data": ""}


@pytest.mark.parametrize(
    ("content", "expected"),
    [(TEXT, TEXT), ([TEXT], TEXT), ([IMAGE], IMAGE), ([TEXT, MORE], {"type": "text", "text": "a\nb"}), (None, None)],
)
def test_an_older_revision_takes_one_block_of_a_sampled_message(content: Any, expected: Any) -> None:
    result = {"role": "assistant", "content": content, "model": "m"}
    assert shaped(SAMPLE, result, "2025-06-18") == result | {"content": expected}
    assert shaped(SAMPLE, result, "2025-11-25") == result


def test_other_answers_are_left_as_they_are() -> None:
    assert shaped(FORM, {"content": ["x"]}, "2025-06-18") == {"content": ["x"]}


def test_capabilities_are_plain_json() -> None:
    assert json.loads(json.dumps(declared_for("2025-11-25", FULL))) == FULL
