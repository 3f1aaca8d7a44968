from __future__ import annotations

from typing import Any

import pytest

from agent.mcp.client.deprecations import deprecated
from agent.mcp.jsonrpc import Notification
from tests.mcp.foreign_server import ForeignServer, connected
from tests.mcp.modern_server import asks, discovered, in_turn, text

NAMED = {"properties": {"a": {"enum": ["x"], "enumNames": ["X"]}}}


@pytest.mark.parametrize(
    ("method", "params", "since"),
    [
        ("sampling/createMessage", {}, "2026-07-28"),
        ("roots/list", {}, "2026-07-28"),
        ("notifications/message", {}, "2026-07-28"),
        ("sampling/createMessage", {"includeContext": "allServers"}, "2025-11-25"),
        ("elicitation/create", {"requestedSchema": NAMED}, "2025-11-25"),
        ("elicitation/create", {"requestedSchema": {"properties": {"a": {"enum": ["x"]}, "b": True}}}, None),
        ("elicitation/create", {"requestedSchema": {"properties": []}}, None),
        ("elicitation/create", {}, None),
        ("sampling/createMessage", {"includeContext": "none"}, "2026-07-28"),
        ("ping", {}, None),
    ],
)
def test_what_is_deprecated_since_when(method: str, params: Any, since: str | None) -> None:
    revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    warned = [revision for revision in revisions if deprecated(method, params, revision)]
    assert warned == ([] if since is None else revisions[revisions.index(since) :])


@pytest.mark.anyio
@pytest.mark.parametrize("apart", [True, False])
async def test_a_server_is_warned_of_once_for_each_thing(apart: bool) -> None:
    async def willing(method: str, params: Any) -> dict[str, Any]:
        return {"roots": []}

    notices: list[str] = []
    log = Notification("notifications/message", {"level": "info", "data": "x"})
    rounds = [asks(None, a=("roots/list", {})), asks(None, b=("roots/list", {})), text("done")]
    server = ForeignServer({"server/discover": discovered(), "tools/call": in_turn(rounds)})
    others: list[str] = []
    heard = {"on_deprecated": notices.append, "on_notice": others.append} if apart else {"on_notice": notices.append}
    async with connected(server, answer=willing, **heard) as client:
        server.before = (log, log)
        await client.call_tool("x")
    assert others == []
    assert notices == [
        "The server uses log messages, which revision 2026-07-28 deprecates; it should log to stderr.",
        "The server uses roots, which revision 2026-07-28 deprecates; it should take folders as arguments.",
    ]
