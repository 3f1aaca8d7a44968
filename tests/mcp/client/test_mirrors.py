from __future__ import annotations

from typing import Any

from agent.mcp.client.mirrors import Mirrors


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


GOOD = tool("good", region={"type": "string", "x-mcp-header": "Region"})
BAD = tool("bad", amount={"type": "number", "x-mcp-header": "Amount"})


def test_over_http_a_tool_that_breaks_the_rules_is_not_offered_and_noticed_once() -> None:
    notices: list[str] = []
    mirrors = Mirrors(notices.append, strict=True)
    for _ in range(2):
        assert mirrors.learn({"tools": [BAD, GOOD, "odd", {"name": 3}], "nextCursor": "2"}) == {
            "tools": [GOOD, "odd", {"name": 3}],
            "nextCursor": "2",
        }
    assert len(notices) == 1


def test_elsewhere_it_is_offered() -> None:
    notices: list[str] = []
    mirrors = Mirrors(notices.append, strict=False)
    assert mirrors.learn({"tools": [BAD, GOOD]}) == {"tools": [BAD, GOOD]}
    assert notices == []


def test_what_is_mirrored_is_what_was_learned_last() -> None:
    mirrors = Mirrors(print, strict=False)
    call = {"name": "good", "arguments": {"region": "nl"}}
    assert mirrors.headers(call) == {}
    mirrors.learn({"tools": [GOOD]})
    assert mirrors.headers(call) == {"Region": "nl"}
    assert mirrors.headers({"name": "other", "arguments": {"region": "nl"}}) == {}
    mirrors.learn({"tools": [tool("good", region={"type": "string"})]})
    assert mirrors.headers(call) == {}
    mirrors.learn({"tools": [GOOD | BAD | {"name": "good"}]})
    assert mirrors.headers(call) == {}


def test_what_is_no_list_of_tools_is_left_to_its_reader() -> None:
    mirrors = Mirrors(print, strict=True)
    assert mirrors.learn({"tools": "none"}) == {"tools": "none"}
    assert mirrors.learn({}) == {}
