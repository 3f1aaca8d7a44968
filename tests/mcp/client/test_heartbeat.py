from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent.mcp.client.heartbeat import heartbeat
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import Message, Notification, Request
from tests.mcp.foreign_server import ForeignServer, connected
from tests.mcp.modern_server import discovered

pytestmark = pytest.mark.anyio

SILENT = "The server did not answer a ping within 0.01 s; it may be busy, hang, or be gone."
BACK = "The server answers pings again."


class Moody(ForeignServer):
    """Answers pings as long as it likes; `pings` counts them."""

    pings, answers_them = 0, True

    def _answer(self, request: Request) -> Message:
        if request.method != "ping":
            return super()._answer(request)
        self.pings += 1
        return super()._answer(request) if self.answers_them else Notification("silence")


async def until(server: Moody, pings: int) -> None:
    while server.pings < pings:
        await anyio.lowlevel.checkpoint()


async def test_a_server_of_the_handshake_era_is_pinged_and_missed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.heartbeat.ANSWER_SECONDS", 0.01)
    notices: list[str] = []
    server = Moody({})
    async with connected(server, ping_seconds=0.001, on_notice=notices.append):
        await until(server, 2)
        assert notices == []
        server.answers_them = False
        await until(server, server.pings + 3)
        assert notices == [SILENT]
        server.answers_them = True
        while len(notices) < 2:
            await anyio.lowlevel.checkpoint()
    assert notices == [SILENT, BACK]


@pytest.mark.parametrize("more", [{"ping_seconds": 0}, {}])
async def test_a_client_in_no_hurry_does_not_ping(more: Any) -> None:
    server = Moody({})
    async with connected(server, **more):
        await anyio.wait_all_tasks_blocked()
    assert server.pings == 0


async def test_the_stateless_era_has_no_ping() -> None:
    server = Moody({"server/discover": discovered()})
    async with connected(server, ping_seconds=0.001) as client:
        await client.list_tools()
        await anyio.sleep(0.01)
        await client.list_tools()
    assert {told.method for told in server.told if isinstance(told, Request)} <= {"server/discover", "tools/list"}


async def test_an_error_is_an_answer_and_a_lost_connection_none() -> None:
    said: list[Any] = []
    outcomes = iter([McpError(-32601, "no"), Unreadable("what?"), ConnectionLost("gone"), ConnectionLost("gone"), None])

    async def ping() -> None:
        outcome = next(outcomes, False)
        if outcome is False:
            tasks.cancel_scope.cancel()
        said.append(outcome)
        if outcome:
            raise outcome

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heartbeat, ping, 0.0001, said.append)
    assert [each for each in said if isinstance(each, str)] == [SILENT.replace("0.01", "30"), BACK]
