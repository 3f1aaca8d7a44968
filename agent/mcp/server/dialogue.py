"""The interface through which a running request reaches its client; each era of the protocol implements it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import Params
from agent.mcp.lifecycle import NEWEST_HANDSHAKE, Capabilities

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class ClientRefused(McpError):
    """The client answered a request of the server with an error, or did not declare the capability for it."""


@dataclass(slots=True)
class Caller:
    """The client's revision, capabilities and info. `log_level` is None if it wants no log messages."""

    revision: str = NEWEST_HANDSHAKE
    capabilities: Capabilities = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    log_level: str | None = "info"

    def wants_log(self, level: str) -> bool:
        return self.log_level is not None and LEVELS.index(level) >= LEVELS.index(self.log_level)


class Dialogue(Protocol):
    """How to send requests and notifications to the client during one of its requests."""

    is_task: bool
    """Whether the request runs as a task: progress is polled, and needs no progress token."""

    async def ask(self, method: str, params: Params | None, key: str | None) -> Any:
        """The client's result. Raises ClientRefused where it answers with an error."""
        ...

    async def tell(self, method: str, params: Params) -> None:
        """Send a notification that belongs to the request."""
        ...

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        """The value of `compute`, which runs only once however often the function is run."""
        ...

    async def begin_task(self) -> None:
        """Continue as a task, if the client and the tool support it."""
        ...

    async def release(self) -> None:
        """Close the response stream; the client reconnects for the result."""
        ...
