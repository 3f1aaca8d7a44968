"""Sending one request of the stateless era: its `_meta`, its headers, and one retry where that can succeed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent.mcp.client.cache import CACHEABLE
from agent.mcp.client.mirrors import Mirrors
from agent.mcp.client.probing import newest, revisions
from agent.mcp.client.tracing import TraceContext, passed_on
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import Params
from agent.mcp.protocol import HEADER_MISMATCH, LOG_LEVEL_KEY, MISSING_CAPABILITY, REVISION_KEY, UNSUPPORTED_REVISION
from agent.mcp.session import OnProgress, OnSending, Session

REPEATABLE = frozenset({*CACHEABLE, "prompts/get", "completion/complete"})
"""Methods without side effects, which are sent again if the answer was lost."""


class StatelessRequests:
    """`meta` goes with every request; `list_tools` reads again which arguments are mirrored in headers."""

    def __init__(
        self,
        session: Session,
        meta: Mapping[str, Any],
        mirrors: Mirrors,
        trace: TraceContext | None,
        list_tools: Callable[[], Awaitable[object]],
    ) -> None:
        self._session, self._meta, self._mirrors = session, dict(meta), mirrors
        self._trace, self._list_tools = trace, list_tools

    def log_from(self, level: str) -> None:
        """The least severe log message that the server may send from now on."""
        self._meta[LOG_LEVEL_KEY] = level

    async def send(
        self, method: str, params: Params, on_progress: OnProgress | None = None, on_sending: OnSending | None = None
    ) -> dict[str, Any]:
        """The result, of any `resultType`.

        Raises:
            McpError, ConnectionLost: as `Session.request` does.
            Unreadable: also for a result that is no object.
        """
        try:
            result = await self._send(method, params, on_progress, on_sending)
        except McpError as error:
            if not await self._can_retry(method, error):
                raise _explained(error) from None
            result = await self._send(method, params, on_progress, on_sending)
        except ConnectionLost as error:
            if method not in REPEATABLE or not _is_of_its_stream(error):
                raise
            result = await self._send(method, params, on_progress, on_sending)
        if not isinstance(result, dict):
            raise Unreadable(f"The server's answer to {method} is no object.")
        return result

    async def _send(
        self, method: str, params: Params, on_progress: OnProgress | None, on_sending: OnSending | None
    ) -> Any:
        meta = {**self._meta, **passed_on(self._trace())} if self._trace else self._meta
        mirrored = self._mirrors.headers(params) if method == "tools/call" else {}
        return await self._session.request(
            method,
            {**params, "_meta": meta},
            on_progress=on_progress,
            on_sending=on_sending,
            context={"params": mirrored} if mirrored else None,
        )

    async def _can_retry(self, method: str, error: McpError) -> bool:
        """Whether a retry can succeed, with another revision or other headers (section "Error codes", 2026-07-28)."""
        if error.code == UNSUPPORTED_REVISION and (mutual := newest(revisions(error.data, "supported"))):
            self._meta[REVISION_KEY] = mutual
            return True
        if error.code == HEADER_MISMATCH and method == "tools/call":
            await self._list_tools()
            return True
        return False


def _is_of_its_stream(error: ConnectionLost) -> bool:
    """Whether only the stream of this request was lost. A request that was refused would be refused again."""
    from agent.mcp.exchange import Refused

    return not isinstance(error, Refused)


def _explained(error: McpError) -> McpError:
    """The error, or one that names the capabilities which the server requires."""
    if error.code != MISSING_CAPABILITY:
        return error
    needed = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    names = ", ".join(_named(needed)) if isinstance(needed, dict) else ""
    sentence = f"The server cannot do this without {names or 'something'}, which is not offered to it: {error.message}"
    return McpError(error.code, sentence, error.data)


def _named(needed: Mapping[str, Any]) -> list[str]:
    """`sampling.tools`, or the name of an extension."""
    named = []
    for name, settings in needed.items():
        inner = list(settings) if isinstance(settings, dict) else []
        if name in ("extensions", "experimental"):
            named += inner or [name]
        else:
            named += [f"{name}.{each}" for each in inner] or [name]
    return named
