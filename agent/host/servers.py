"""All servers, each in a task of its own, so that a failure or delay of one does not affect the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from anyio.abc import TaskGroup

from agent.host.config.errors import nearest
from agent.host.connection import Connection
from agent.host.errors import ServerUnavailable
from agent.host.server_view import ServerView
from agent.host.surroundings import Surroundings
from agent.mcp.background import background


class Servers:
    """Made by `open_servers`."""

    def __init__(self, surroundings: Surroundings, tasks: TaskGroup) -> None:
        self._config, self._tasks = surroundings.config, tasks
        self._connections = {name: Connection(name, surroundings, self.start) for name in self._config.servers}

    @property
    def connections(self) -> Mapping[str, Connection]:
        return self._connections

    def __getitem__(self, name: str) -> Connection:
        """
        Raises:
            ServerUnavailable: there is no server of that name, or it is disabled.
        """
        if connection := self._connections.get(name):
            return connection
        for disabled in self._config.disabled:
            if disabled.kind == "server" and disabled.name == name:
                raise ServerUnavailable(f"The server {name} is disabled: {disabled.reason}")
        raise ServerUnavailable(f"There is no server named {name!r}.{nearest(name, self._connections)}")

    def start(self, connection: Connection) -> None:
        """Start its task, unless it is running."""
        if connection.ended.is_set():
            connection.begin()
            self._tasks.start_soon(connection.live)

    async def reconnect(self, name: str) -> None:
        """Stop a server if it runs, start it again, and wait until that has succeeded or failed.

        Raises:
            ServerUnavailable: there is no server of that name, or it is disabled.
        """
        connection = self[name]
        connection.stop()
        await connection.ended.wait()
        self.start(connection)
        await connection.settled.wait()

    async def spawned(self) -> None:
        """Wait until every server's process has been started or failed to start."""
        for connection in self._connections.values():
            await connection.lifeline.opened.wait()

    async def settled(self) -> None:
        """Wait for the servers still starting, each at most its `connect_timeout`."""
        for connection in self._connections.values():
            await connection.settled.wait()

    def views(self) -> list[ServerView]:
        """Every server, the disabled ones last."""
        disabled = [
            ServerView(entry.name, "failed", entry.reason, required=entry.required)
            for entry in self._config.disabled
            if entry.kind == "server"
        ]
        return [connection.view() for connection in self._connections.values()] + disabled


@asynccontextmanager
async def open_servers(surroundings: Surroundings) -> AsyncIterator[Servers]:
    """All configured servers, starting in parallel. On exit they are stopped in order, in bounded time."""
    async with background() as tasks:
        servers = Servers(surroundings, tasks)
        for connection in servers.connections.values():
            servers.start(connection)
        yield servers
