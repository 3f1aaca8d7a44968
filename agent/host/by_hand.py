"""The servers by hand: what they offer, and calls that a person or a program makes itself."""

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
    """A tool or a prompt is named by its own name where that is unique, else by SERVER/NAME.

    Whatever cannot be had raises HostError, whose text is a sentence for people.
    """

    def __init__(self, servers: Servers, cutter: Cutter) -> None:
        self.catalogue = Catalogue(servers)
        self._servers, self._cutter = servers, cutter
        self._calls = 0

    @property
    def connections(self) -> Mapping[str, Connection]:
        return self._servers.connections

    def servers(self) -> list[ServerView]:
        """Every server, the disabled ones too."""
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
        """Stop a server if it runs and start it anew; `servers()` says how it went."""
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
        """Call a tool by hand. That the tool failed is a result (`is_error`). `progress`: (done, total, note)."""
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
        """The contents of a resource; `server` is needed where several may have it."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        return await self._request(connection, f"the reading of {uri}", lambda c: c.read_resource(uri))

    async def attach(self, uri: str, server: str | None = None) -> tuple[Content, ...]:
        """A resource as it is put into a message, marked with its URI, and cut like a tool's result."""
        from agent.host.content import resource_of

        reading = await self.read(uri, server)
        return self._cutter.cut([resource_of(part) for part in reading.contents])

    async def subscribe(self, uri: str, server: str | None = None) -> str:
        """Hear of a resource's changes as notices from now on. Returns the server's name."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        await self._told(connection, connection.subscribe(uri))
        return connection.name

    async def unsubscribe(self, uri: str, server: str | None = None) -> str:
        """Returns the server's name."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        await self._told(connection, connection.unsubscribe(uri))
        return connection.name

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, server: str | None = None
    ) -> PromptResult:
        """A prompt filled in; `agent.host.content.messages_of` makes messages of a conversation of it."""
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
