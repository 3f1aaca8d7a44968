"""The tool arguments that are mirrored in headers (section "Transports, Streamable HTTP, custom headers")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.mcp.routing import Mirrored, mirror, mirrored_arguments
from agent.mcp.wire import Notice


class Mirrors:
    """Reads `x-mcp-header` from lists of tools. `strict`, required over HTTP: leave out tools that use it wrongly."""

    def __init__(self, notice: Notice, *, strict: bool) -> None:
        self._notice, self._strict = notice, strict
        self._known: dict[str, tuple[Mirrored, ...]] = {}
        self._refused: set[str] = set()

    def learn(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The page of a list, without the tools that have to be left out."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return dict(result)
        return {**result, "tools": [tool for tool in tools if self._admits(tool)]}

    def headers(self, params: Mapping[str, Any]) -> dict[str, str | int | bool]:
        """The headers that mirror the arguments of a call."""
        which = self._known.get(params.get("name", ""), ())
        return mirror(params.get("arguments"), which) if which else {}

    def _admits(self, tool: Any) -> bool:
        if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
            return True  # reported by the reader of the list
        try:
            self._known[name] = mirrored_arguments(tool.get("inputSchema"))
        except ValueError as fault:
            self._known.pop(name, None)
            if self._strict and name not in self._refused:
                self._refused.add(name)
                self._notice(f"The tool {name} was left out: {fault}.")
            return not self._strict
        return True
