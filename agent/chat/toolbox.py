"""The interface between the loop and tools. `agent.host.mcp_tools` implements it for MCP tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.chat.messages import Content
from agent.chat.provider import ToolSpec

OnProgress = Callable[[float, float | None, str], None]
"""Called with (done, total or None, message) while a tool runs."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    content: tuple[Content, ...]
    is_error: bool = False


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec:
        """The tool as shown to the model: `spec.name` is unique among all tools."""
        ...

    @property
    def server(self) -> str:
        """The configured name of the server that runs it."""
        ...

    @property
    def name(self) -> str:
        """The tool's own name on its server."""
        ...

    @property
    def harmless(self) -> bool:
        """True if the tool needs no approval, for example because a trusted server declares it read-only."""
        ...

    def fault(self, arguments: dict[str, Any]) -> str | None:
        """Why these arguments do not match the tool's schema, as a sentence for the model; None if they do."""
        ...

    async def __call__(self, arguments: dict[str, Any], on_progress: OnProgress) -> ToolOutput:
        """Run it. A failed call returns an output with `is_error`; an exception is converted to one."""
        ...


class Toolbox(Protocol):
    """The tools available now. Read at the start of each turn; the list may change between turns."""

    def tools(self) -> Sequence[Tool]:
        """In a stable order: the same set of tools gives an equal list."""
        ...

    def find(self, name: str) -> Tool | None:
        """The tool with the name `name` shown to the model, if it is still available."""
        ...

    def system(self) -> str:
        """The system prompt: the user's own and the servers' `instructions`."""
        ...
