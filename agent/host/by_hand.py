"""Direct access to the servers: what they offer, and calls made by a person or a program instead of a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agent.chat.messages import Content
from agent.host.catalogue import Catalogue, Offered, ToolView
from agent.host.connection import Connection
from agent.host.errors import HostError, ServerUnavailable, describe_error
from agent.host.patience import Patience
from agent.host.server_view import ServerView
from agent.host.servers import Servers
from agent.mcp.errors import McpError

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.content import Cutter
    from agent.mcp.client.client import Client, Progress
    from agent.mcp.wire import PromptResult, ReadResult, ToolResult

T = TypeVar("T")


class ByHand:
    """A tool or a prompt is identified by its own name if that is unique, else by SERVER/NAME.

    All methods raise HostError if a request fails; its text is a sentence for people.
    """

    def __init__(self, servers: Servers, cutter: Cutter) -> None:
        self.catalogue = Catalogue(servers)
        self._servers, self._cutter = servers, cutter
        self._calls = 0

    @property
    def connections(self) -> Mapping[str, Connection]:
        return self._servers.connections

    def servers(self) -> list[ServerView]:
        """Every server, including disabled ones."""
        return self._servers.views()

    async def settled(self) -> None:
        """Wait for the servers that are still starting, each at most its `connect_timeout`.

        Raises:
            HostError: one marked `required` could not be reached, or is disabled.
        """
        await self._servers.settled()
        for view in self._servers.views():
            if view.required and view.state != "ready":
                raise ServerUnavailable(f"The server {view.name} is required, but {view.state}: {view.detail}")

    async def reconnect(self, name: str) -> None:
        """Stop the server if it runs, and start it again; `servers()` has the outcome."""
        await self._servers.reconnect(name)

    def tools(self, server: str | None = None) -> list[ToolView]:
        return self.catalogue.tools(server)

    def resources(self, server: str | None = None) -> list[Offered[types.Resource]]:
        return self.catalogue.resources(server)

    def templates(self, server: str | None = None) -> list[Offered[types.ResourceTemplate]]:
        return self.catalogue.templates(server)

    def prompts(self, server: str | None = None) -> list[Offered[types.Prompt]]:
        return self.catalogue.prompts(server)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        server: str | None = None,
        progress: Progress | None = None,
    ) -> ToolResult:
        """Call a tool directly. A tool error is a result with `is_error`. `progress`: (done, total, message)."""
        tool = self.catalogue.find_tool(name, server)
        connection = self._servers[tool.server]
        patience = Patience(connection.table.timeout)

        def progressed(done: float, total: float | None, note: str) -> None:
            patience.restart()
            if progress:
                progress(done, total, note)

        return await self._request(
            connection, f"the call of {tool.name}", lambda c: c.call_tool(tool.name, arguments, progressed), patience
        )

    async def read(self, uri: str, server: str | None = None) -> ReadResult:
        """The contents of a resource; `server` is required if several servers may have it."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        return await self._request(connection, f"the reading of {uri}", lambda c: c.read_resource(uri))

    async def attach(self, uri: str, server: str | None = None) -> tuple[Content, ...]:
        """A resource as content for a message, labelled with its URI and truncated like a tool result."""
        from agent.host.content import resource_of

        reading = await self.read(uri, server)
        return self._cutter.cut([resource_of(part) for part in reading.contents])

    async def subscribe(self, uri: str, server: str | None = None) -> str:
        """Subscribe to a resource; updates are reported as notices. Returns the server's name."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        await self._told(connection, connection.subscribe(uri))
        return connection.name

    async def unsubscribe(self, uri: str, server: str | None = None) -> str:
        """Unsubscribe from a resource. Returns the server's name."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        await self._told(connection, connection.unsubscribe(uri))
        return connection.name

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, server: str | None = None
    ) -> PromptResult:
        """The result of `prompts/get`; `agent.host.content.messages_of` converts it to messages of a conversation."""
        found = self.catalogue.find_prompt(name, server)
        connection = self._servers[found.server]
        return await self._request(
            connection, f"the prompt {found.item.name}", lambda c: c.get_prompt(found.item.name, arguments)
        )

    async def _request(
        self,
        connection: Connection,
        what: str,
        send: Callable[[Client], Awaitable[T]],
        patience: Patience | None = None,
    ) -> T:
        self._calls += 1
        return await self._told(connection, connection.request(what, send, patience))

    async def _told(self, connection: Connection, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except McpError as error:
            raise HostError(f"{connection.name}: {describe_error(error)}") from error
