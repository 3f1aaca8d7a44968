"""The composition root: builds the floors and hands them out, with no logic of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from agent.chat.loop import Agent
from agent.chat.messages import AssistantMessage, Content, Stop, Usage, UserMessage, user
from agent.chat.outbox import Outbox, Pending
from agent.chat.provider import Provider
from agent.chat.report import CallRecord, Report
from agent.host.approvals import Approvals
from agent.host.browser import OpenPage, open_page
from agent.host.catalogue import Catalogue, Offered, ToolView
from agent.host.client_features import Chat, ClientFeatures
from agent.host.config import Config
from agent.host.connection import Connection
from agent.host.errors import HostError, ServerUnavailable, describe_error
from agent.host.oauth import SignIns
from agent.host.omissions import tell_omissions
from agent.host.patience import Patience
from agent.host.policies import headless_policy
from agent.host.provider_choice import Providers
from agent.host.server_view import ServerView
from agent.host.servers import Servers, open_servers
from agent.host.suggestions import Suggestions
from agent.host.surroundings import OpenTransport, Surroundings
from agent.host.trace import Trace
from agent.host.transports import reach
from agent.host.verdicts import Verdicts
from agent.mcp.session import McpError

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.toolbox import HostToolbox
    from agent.mcp.client.client import Client, Progress
    from agent.mcp.wire import PromptResult, ReadResult, ToolResult

T = TypeVar("T")

__all__ = ["Host", "HostError", "Reply", "ServerUnavailable", "open_host"]


@dataclass(frozen=True, slots=True)
class Reply:
    """How a turn ended. `error` is a sentence, where `stop` is ERROR; `usage` counts servers' samples too."""

    text: str
    tool_calls: tuple[CallRecord, ...]
    usage: Usage
    stop: Stop
    error: str | None = None


class Host:
    """Made by `open_host`.

    A tool or a prompt is named by its own name where that is unique, else by SERVER/NAME; whatever cannot be had
    raises HostError, whose text is a sentence for people.
    """

    def __init__(
        self,
        agent: Agent,
        surroundings: Surroundings,
        servers: Servers,
        toolbox: HostToolbox,
        providers: Providers,
        *,
        owns_outbox: bool,
    ) -> None:
        self.config, self.outbox, self.trace = surroundings.config, surroundings.outbox, surroundings.trace
        self.grants, self.roots = surroundings.features.grants, surroundings.features.roots
        self.agent, self.approvals = agent, toolbox.approvals
        self.suggestions = Suggestions(servers)
        self._cutter = toolbox.cutter
        self._servers, self._providers, self._owns_outbox = servers, providers, owns_outbox
        self.catalogue = Catalogue(servers)
        self._calls_by_hand = 0

    @property
    def occasion(self) -> tuple[int, int]:
        """What tells one turn, or one call by hand, from the next."""
        turns = sum(isinstance(message, UserMessage) for message in self.agent.conversation.messages)
        return turns, self._calls_by_hand

    @property
    def provider(self) -> Provider:
        return self.agent.provider

    @property
    def model(self) -> str:
        """PROVIDER/MODEL, as the user writes it."""
        return self.agent.provider.name

    @property
    def connections(self) -> Mapping[str, Connection]:
        return self._servers.connections

    async def set_model(self, label: str) -> None:
        """Use another model from the next turn on: PROVIDER/MODEL, or an alias.

        Raises:
            ConfigError: there is no such provider, or it has no key; the model stays what it is.
        """
        self.agent.provider = provider = self._providers.usable(label)
        self._providers.warm_up(provider.name)

    async def ask(self, message: str | UserMessage) -> Reply:
        """One turn, once the servers have settled.

        Raises:
            HostError: a server marked `required` could not be reached.
        """
        await self.settled()
        already = len(self.agent.conversation.messages)
        if self._owns_outbox:
            self.outbox.drain()
        ended = await self.agent.turn(user(message) if isinstance(message, str) else message)
        report = Report()
        for item in self.outbox.drain() if self._owns_outbox else ():
            if not isinstance(item, Pending):
                report.add(item)
        said = [m for m in self.agent.conversation.messages[already:] if isinstance(m, AssistantMessage)]
        error = ended.detail if ended.stop is Stop.ERROR else None
        return Reply(said[-1].text if said else "", tuple(report.tool_calls), report.usage, ended.stop, error)

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

    async def roots_changed(self) -> None:
        """Tell the servers that are there of changed `roots`, where their revision has a word for it."""
        for connection in self._servers.connections.values():
            if connection.client:
                with suppress(HostError):
                    await connection.request("the new roots", lambda client: client.roots_changed())

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

        return await self._by_hand(
            connection, f"the call of {tool.name}", lambda c: c.call_tool(tool.name, arguments, progressed), patience
        )

    async def read(self, uri: str, server: str | None = None) -> ReadResult:
        """The contents of a resource; `server` is needed where several may have it."""
        connection = self._servers[self.catalogue.server_of(uri, server)]
        return await self._by_hand(connection, f"the reading of {uri}", lambda c: c.read_resource(uri))

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
        return await self._by_hand(
            connection, f"the prompt {found.item.name}", lambda c: c.get_prompt(found.item.name, arguments)
        )

    async def _by_hand(
        self,
        connection: Connection,
        what: str,
        send: Callable[[Client], Awaitable[T]],
        patience: Patience | None = None,
    ) -> T:
        self._calls_by_hand += 1
        return await self._told(connection, connection.request(what, send, patience))

    async def _told(self, connection: Connection, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except McpError as error:
            raise HostError(f"{connection.name}: {describe_error(error)}") from error


@asynccontextmanager
async def open_host(
    config: Config,
    outbox: Outbox | None = None,
    *,
    interactive: bool = False,
    open_transport: OpenTransport = reach,
    open_page: OpenPage = open_page,
) -> AsyncIterator[Host]:
    """Everything a chat needs, running: the servers of `config` start in parallel, and nothing waits for them here.

    Without an `outbox` the configuration answers every question at once, so that nothing ever waits for a reader.
    `interactive` says that a person reads the outbox and can be asked; `open_page` opens a page that they agreed to.
    Leaving stops all servers, in bounded time.

    Raises:
        ConfigError: the model that is configured does not exist, or the trace cannot be written.
    """
    shown = outbox or Outbox(headless_policy(config))
    chat = config.settings.chat
    providers = Providers(config)
    provider = providers.get(config.model)
    tell_omissions(config, shown)
    seen = Chat(
        model=lambda: host.model,
        provider_for=providers.get,
        turn=lambda: host.occasion,
        messages=lambda: host.agent.conversation.messages,
        owner_of=lambda name: tool.server if (tool := toolbox.find(name)) else "",
    )
    features = ClientFeatures(config, shown, seen, interactive=interactive, open_page=open_page)
    verdicts = Verdicts(config.data_folder / "verdicts.json")
    with closing(Trace(shown, config.secrets, config.trace)) as trace:
        sign_ins = SignIns(config, trace.hide, shown.ask if interactive else None, open_page)
        surroundings = Surroundings(config, shown, features, trace, verdicts, sign_ins, open_transport)
        async with open_servers(surroundings) as servers:
            await servers.spawned()  # before an import makes everything slow
            from agent.host.toolbox import HostToolbox

            approvals = Approvals(config.data_folder / "approvals.json", config.servers)
            toolbox = HostToolbox(servers, shown, approvals, chat.system, chat.max_tool_output)
            agent = Agent(
                provider, toolbox, shown, config.tool_policy, max_turns=chat.max_turns, max_tokens=chat.max_tokens
            )
            host = Host(agent, surroundings, servers, toolbox, providers, owns_outbox=outbox is None)
            providers.warm_up(provider.name)
            try:
                yield host
            finally:
                await providers.aclose()
