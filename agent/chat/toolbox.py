"""What the loop needs from tools. MCP tools implement it in `agent.host.mcp_tools`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.chat.messages import Content
from agent.chat.provider import ToolSpec

OnProgress = Callable[[float, float | None, str], None]
"""Called with (done, total or None, note) while a tool runs."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    content: tuple[Content, ...]
    is_error: bool = False


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec:
        """As the model is shown it: `spec.name` is unique among all tools."""
        ...

    @property
    def server(self) -> str:
        """Who runs it, as the user named them."""
        ...

    @property
    def name(self) -> str:
        """The server's own name for it."""
        ...

    @property
    def harmless(self) -> bool:
        """True if a server the user trusts says that the tool only reads: it needs no approval."""
        ...

    def fault(self, arguments: dict[str, Any]) -> str | None:
        """Why these arguments do not fit the tool's schema, as a sentence for the model; None if they do."""
        ...

    async def __call__(self, arguments: dict[str, Any], on_progress: OnProgress) -> ToolOutput:
        """Run it. A failure of the tool is an output with `is_error`; whatever is raised becomes one."""
        ...


class Toolbox(Protocol):
    """All tools there are now. Read at the start of each turn; the list may change between turns."""

    def tools(self) -> Sequence[Tool]:
        """In a stable order: an unchanged set gives an equal list."""
        ...

    def find(self, name: str) -> Tool | None:
        """The tool the model calls `name`, if it is still there."""
        ...

    def system(self) -> str:
        """The system prompt: the user's, and what the servers say about themselves."""
        ...
