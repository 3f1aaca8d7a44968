"""Periodic pings (section "Utilities, Ping"; the stateless era has none)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.wire import Notice

ANSWER_SECONDS = 30.0  # for the response


async def heartbeat(ping: Callable[[], Awaitable[None]], seconds: float, notice: Notice) -> None:
    """Ping every `seconds`, until cancelled; `notice` is called when responses stop, and when they resume."""
    was_there = True
    while True:
        await anyio.sleep(seconds)
        is_there = await _is_there(ping)
        if was_there and not is_there:
            notice(f"The server did not answer a ping within {ANSWER_SECONDS:g} s; it may be busy, hang, or be gone.")
        elif is_there and not was_there:
            notice("The server answers pings again.")
        was_there = is_there


async def _is_there(ping: Callable[[], Awaitable[None]]) -> bool:
    with anyio.move_on_after(ANSWER_SECONDS):
        try:
            await ping()
        except (McpError, Unreadable):
            return True  # any response shows that the server is alive
        except ConnectionLost:
            return False
        return True
    return False
