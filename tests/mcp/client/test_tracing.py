from __future__ import annotations

import pytest

from agent.mcp.client.tracing import passed_on

PARENT = f"00-{'4b' * 16}-{'0f' * 8}-01"


def test_a_valid_context_is_passed_on_and_nothing_else() -> None:
    context = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "c=d", "x": "y"}
    assert passed_on(context) == {"traceparent": PARENT, "tracestate": "a=b", "baggage": "c=d"}
    assert passed_on({"traceparent": PARENT, "tracestate": ""}) == {"traceparent": PARENT}
    assert passed_on({}) == {}


@pytest.mark.parametrize(
    "parent",
    ["", "x", PARENT.upper(), f"ff{PARENT[2:]}", f"00-{'0' * 32}-{'0f' * 8}-01", f"00-{'4b' * 16}-{'0' * 16}-01"],
)
def test_without_a_valid_parent_there_is_no_state(parent: str) -> None:
    assert passed_on({"traceparent": parent, "tracestate": "a=b", "baggage": "c=d"}) == {"baggage": "c=d"}
