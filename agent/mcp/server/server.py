"""`Server`: an MCP server from Python functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent.mcp.background import background
from agent.mcp.envelope import Channel
from agent.mcp.jsonrpc import Failure, Request, Result
from agent.mcp.protocol import RESOURCE_UPDATED, TASK_CHANGED
from agent.mcp.server.catalogue import Catalogue, Kind
from agent.mcp.server.connection import Connection
from agent.mcp.server.dialogue import Level
from agent.mcp.server.kept_tasks import KeptTasks
from agent.mcp.server.reentry import Rounds, Tell
from agent.mcp.server.registry import Registry
from agent.mcp.server.running import message_of
from agent.mcp.server.seal import Seal
from agent.mcp.server.service import Caching, Identity, Life, LifespanFailed, Service
from agent.mcp.server.stateless import Stateless
from agent.mcp.server.subscribers import Change
from agent.mcp.server.task_store import MemoryTaskStore, TaskStore
from agent.mcp.session import open_session

if TYPE_CHECKING:
    from agent.mcp.transports.http_auth import Authorization
    from agent.mcp.transports.http_server import HttpApp


class Server(Registry):
    """An MCP server. Register functions with its decorators, then `run` it.

    `name`, `version` and `title` are shown to people; `instructions` are a hint for the model. `state_key` is the
    secret that authenticates `requestState`; workers that share a load need the same one. `lifespan` is entered once
    for an HTTP process, and for every connection elsewhere; what it yields is `Context.lifespan`. `page_size` is the
    number of entries in a page of a list. `offers` are capabilities to declare even while nothing of their kind is
    registered. `caching` says how long clients may cache results. `task_store` stores tasks; the default is in memory.

    Section "Server Features" of the specification.
    """

    def __init__(
        self,
        name: str,
        version: str = "1.0",
        instructions: str | None = None,
        state_key: str | bytes | None = None,
        title: str | None = None,
        lifespan: Callable[[Server], AbstractAsyncContextManager[Any]] | None = None,
        page_size: int = 100,
        *,
        offers: Collection[Kind] = (),
        caching: Caching | None = None,
        task_store: TaskStore | None = None,
    ) -> None:
        super().__init__(name, Catalogue(page_size, offers))
        self.version, self.state_key = version, state_key
        self._lifespan = lifespan or _nothing
        self._life: Life | None = None
        self._visitors: Stateless | None = None
        self._connections: set[Connection] = set()
        self._service = Service(
            Identity(name, version, title, instructions),
            self._catalogue,
            caching or Caching(),
            Rounds(Seal(state_key)),
            KeptTasks(task_store or MemoryTaskStore(), lambda id: self._announce((TASK_CHANGED, id))),
        )

    @property
    def is_serving(self) -> bool:
        return self._life is not None or bool(self._connections)

    def notify_resource_updated(self, uri: str) -> None:
        """Notify the clients that subscribed to a resource that it has changed. Thread-safe.

        Changes of the lists, by registration and removal, are notified automatically.
        """
        self._announce((RESOURCE_UPDATED, uri))

    def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message that belongs to no request. Thread-safe; `data` is any JSON.

        It is sent to clients of the handshake era only, if they want that level (section "Utilities, Logging").
        """
        named = {} if logger is None else {"logger": logger}
        for connection in list(self._connections):
            connection.log(level, {"level": level, **named, "data": data})

    def prepare(self) -> None:
        """Validate every registration.

        Raises:
            SignatureError: a function cannot be offered as it is written.
        """
        self._catalogue.prepare()

    async def serve(self, channel: Channel) -> None:
        """Serve one connection until the client closes it.

        Raises:
            SignatureError: a function cannot be offered as it is written.
        """
        if self._life:
            await self._serve(channel, self._life)
        else:
            self.prepare()
            async with self._living() as life:
                await self._serve(channel, life)

    async def reply(self, request: Request, context: Mapping[str, Any], tell: Tell) -> Result | Failure:
        """Answer a stateless request that belongs to no connection, while the server is `running`.

        `context` is what the transport knows of it; `tell` sends notifications on its response stream.
        """
        assert self._visitors, "the server is running"
        return await self._visitors.reply(request, context, tell)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The scope of one lifespan for all connections, and of the tasks that outlive a connection.

        Raises:
            SignatureError: a function cannot be offered as it is written.
            LifespanFailed: the lifespan could not begin.
        """
        self.prepare()
        async with self._living() as life:
            before = self._life, self._visitors
            self._life, self._visitors = life, Stateless(self._service, life)
            try:
                yield
            finally:
                self._life, self._visitors = before

    def end_subscriptions(self) -> None:
        """End all `subscriptions/listen` requests, before the process stops."""
        for connection in list(self._connections):
            connection.end_listening()
        if self._visitors:
            self._visitors.listening.end()

    def asgi(
        self,
        *,
        path: str = "/mcp",
        sse: bool = False,
        allowed_hosts: Iterable[str] | None = None,
        allowed_origins: Iterable[str] = (),
        auth: Authorization | None = None,
    ) -> HttpApp:
        """An ASGI app that serves clients of both eras at `path`; `sse` adds the endpoints of 2024-11-05.

        With `auth` every request needs an access token for this server (section "Authorization").
        See `agent.mcp.transports.http_server.asgi_app` for the requirements of several workers, and for more settings.
        """
        from agent.mcp.admission import LOOPBACK
        from agent.mcp.transports.http_server import asgi_app

        hosts = LOOPBACK if allowed_hosts is None else allowed_hosts
        return asgi_app(self, path=path, sse=sse, allowed_hosts=hosts, allowed_origins=allowed_origins, auth=auth)

    def run(self, arguments: Sequence[str] | None = None) -> None:
        """Run as a process: over stdio, or HTTP with `--http`. `arguments` default to those of the command line.

        Raises:
            SystemExit: 2 for invalid arguments or functions, 130 if interrupted.
        """
        from agent.mcp.server.process import run

        run(self, arguments)

    async def _serve(self, channel: Channel, life: Life) -> None:
        connection = Connection(self._service, life, channel)
        self._connections.add(connection)
        try:
            opened = open_session(channel, connection, refuses_garbage=True, batching=connection.takes_batches)
            async with opened as session:
                await connection.run(session)
        finally:
            self._connections.discard(connection)

    @asynccontextmanager
    async def _living(self) -> AsyncIterator[Life]:
        async with AsyncExitStack() as stack:
            try:
                lifespan = await stack.enter_async_context(self._lifespan(self))
            except Exception as error:  # the lifespan may raise anything
                raise LifespanFailed(f"its lifespan raised {type(error).__name__}: {message_of(error)}") from error
            yield Life(lifespan, await stack.enter_async_context(background()))

    def _announce(self, change: Change) -> None:
        for connection in list(self._connections):
            connection.announce(change)
        if self._visitors:
            self._visitors.listening.announce(change)


@asynccontextmanager
async def _nothing(server: Server) -> AsyncIterator[None]:
    yield None
