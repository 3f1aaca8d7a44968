"""All tools available now, and what the model is told about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from agent.chat.messages import Text
from agent.chat.outbox import Outbox
from agent.chat.provider import ToolSpec
from agent.chat.toolbox import OnProgress, Tool, ToolOutput
from agent.host.approvals import Approvals
from agent.host.content import Cutter, resource_of
from agent.host.errors import describe_error
from agent.host.mcp_tools import McpTool
from agent.host.offers import Offers
from agent.host.schemas import mismatch
from agent.host.servers import Servers
from agent.mcp.errors import McpError

OWN = "mcp-chat"
"""The server name used for the host's own tools."""

READ_RESOURCE = ToolSpec(
    "read_resource",
    "Read a resource of a connected server: one that it lists, or one that a tool's result links to.",
    {
        "type": "object",
        "properties": {
            "server": {"type": "string", "description": "The server's name"},
            "uri": {"type": "string", "description": "The resource's URI, exactly as the server gives it"},
        },
        "required": ["server", "uri"],
        "additionalProperties": False,
    },
)
READ_RESULT = ToolSpec(
    "read_result",
    "Read on in a tool's result that was too long to be shown whole.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The result's id, as its marker gives it"},
            "offset": {"type": "integer", "minimum": 0, "description": "The character to begin at"},
        },
        "required": ["id", "offset"],
        "additionalProperties": False,
    },
)

Run = Callable[[dict[str, Any]], Awaitable[ToolOutput]]


class OwnTool:
    """A tool provided by the host itself. Implements `agent.chat.toolbox.Tool`."""

    def __init__(self, spec: ToolSpec, run: Run, *, harmless: bool) -> None:
        self.spec, self.server, self.name, self.harmless, self._run = spec, OWN, spec.name, harmless, run

    def fault(self, arguments: dict[str, Any]) -> str | None:
        return mismatch(arguments, self.spec.schema)

    async def __call__(self, arguments: dict[str, Any], on_progress: OnProgress) -> ToolOutput:
        return await self._run(arguments)


class HostToolbox:
    """Implements `agent.chat.toolbox.Toolbox`. `system` is the user's own system prompt; `cutter` truncates results."""

    def __init__(self, servers: Servers, outbox: Outbox, approvals: Approvals, system: str, max_output: int) -> None:
        self._servers, self._outbox, self.approvals, self._system = servers, outbox, approvals, system
        self.cutter = Cutter(max_output)
        # A resource link may carry data of the conversation to its server, so reading it needs approval like any call.
        self._read_resource = OwnTool(READ_RESOURCE, self._resource, harmless=False)
        self._read_result = OwnTool(READ_RESULT, self._result, harmless=True)
        self._offers: list[Offers] | None = None  # those that `_tools` was built from
        self._tools: dict[str, Tool] = {}

    def tools(self) -> Sequence[Tool]:
        return list(self._by_name().values())

    def find(self, name: str) -> Tool | None:
        return self._by_name().get(name)

    def _by_name(self) -> dict[str, Tool]:
        """Rebuilt only when a server's offers change. Of several tools with one name the first is used."""
        offers = [connection.offers for connection in self._servers.connections.values()]
        if self._offers is None or any(now is not then for now, then in zip(offers, self._offers, strict=True)):
            self._offers, self._tools = offers, {}
            for tool in self._build():
                self._tools.setdefault(tool.spec.name, tool)
        return self._tools

    def _build(self) -> Iterator[Tool]:
        connections = self._servers.connections.values()
        tools = [(connection, tool) for connection in connections for tool in connection.offers.tools]
        for connection, tool in tools:
            yield McpTool(connection, tool, self._outbox, self.approvals, self.cutter)
        linked = any(connection.offers.resources or connection.offers.templates for connection in connections)
        if linked:
            yield self._read_resource
        if tools or linked:  # always: adding it in mid-conversation would invalidate the provider's cache
            yield self._read_result

    def system(self) -> str:
        parts = [self._system] if self._system else []
        for connection in self._servers.connections.values():
            instructions = connection.client.instructions if connection.client else None
            if instructions:
                parts.append(
                    f'<server name="{connection.name}">\n'
                    f"What this server says about its own tools:\n{instructions}\n</server>"
                )
        return "\n\n".join(parts)

    async def _resource(self, arguments: dict[str, Any]) -> ToolOutput:
        connection = self._servers[arguments["server"]]
        uri = arguments["uri"]
        with self.cutter.together():
            try:
                result = await connection.request(f"the reading of {uri}", lambda client: client.read_resource(uri))
            except McpError as error:
                return ToolOutput((Text(describe_error(error)),), is_error=True)
            return ToolOutput(self.cutter.cut([resource_of(part) for part in result.contents]))

    async def _result(self, arguments: dict[str, Any]) -> ToolOutput:
        try:
            return ToolOutput((Text(self.cutter.read(arguments["id"], arguments["offset"])),))
        except KeyError:
            return ToolOutput((Text(f"There is no result {arguments['id']!r} any more."),), is_error=True)
