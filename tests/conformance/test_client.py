from __future__ import annotations

from typing import Any

import pytest

from agent.mcp import McpError
from tests.conformance.client import SCENARIOS, answer, defaults, filled
from tests.conformance.scenarios import CLIENT

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John"},
        "score": {"type": "number", "default": 95.5},
        "role": {"type": "string", "enum": ["a", "b"]},
        "note": {"type": "string"},
        "sure": {"type": "boolean"},
    },
    "required": ["role", "sure"],
}


def test_every_scenario_in_the_list_has_something_to_do() -> None:
    listed = {name for names in CLIENT.values() for name in names if not name.startswith("auth/")}
    assert listed == set(SCENARIOS)


def test_a_form_is_filled_in_with_its_defaults_and_what_it_demands() -> None:
    assert defaults(FORM) == {"name": "John", "score": 95.5, "role": "a", "sure": True}
    assert filled(FORM) == {"role": "a", "sure": True}
    assert defaults({}) == filled({}) == {}


@pytest.mark.anyio
async def test_forms_are_accepted_pages_are_not_and_the_rest_is_refused() -> None:
    assert await answer("elicitation/create", {"requestedSchema": FORM}) == {
        "action": "accept",
        "content": defaults(FORM),
    }
    assert await answer("elicitation/create", {"mode": "url", "url": "https://a.example"}) == {"action": "decline"}
    with pytest.raises(McpError):
        await answer("roots/list", dict[str, Any]())
