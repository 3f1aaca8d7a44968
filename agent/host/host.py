"""The composition root: `open_host` builds all parts, and `Host` gives access to the chat and to the servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.chat.loop import Agent
from agent.chat.messages import AssistantMessage, Stop, Usage, UserMessage, user
from agent.chat.outbox import Outbox, Pending
from agent.chat.provider import Provider
from agent.chat.report import CallRecord, Report
from agent.host.approvals import Approvals
from agent.host.browser import OpenPage, open_page
from agent.host.by_hand import ByHand
from agent.host.client_features import Chat, ClientFeatures
from agent.host.config.config import Config
from agent.host.errors import HostError, ServerUnavailable
from agent.host.oauth.oauth import SignIns
from agent.host.omissions import tell_omissions
from agent.host.policies import headless_policy
from agent.host.provider_choice import Providers
from agent.host.servers import Servers, open_servers
from agent.host.suggestions import Suggestions
from agent.host.surroundings import OpenTransport, Surroundings
from agent.host.trace import Trace
from agent.host.transports import reach
from agent.host.verdicts import Verdicts

if TYPE_CHECKING:
    from agent.host.toolbox import HostToolbox

__all__ = ["Host", "HostError", "Reply", "ServerUnavailable", "open_host"]


@dataclass(frozen=True, slots=True)
class Reply:
    """How a turn ended. `error` is a sentence if `stop` is ERROR; `usage` includes servers' sampling requests."""

    text: str
    tool_calls: tuple[CallRecord, ...]
    usage: Usage
    stop: Stop
    error: str | None = None


class Host(ByHand):
    """Made by `open_host`. Direct access to servers is in `ByHand`."""

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
        super().__init__(servers, toolbox.cutter)
        self.config, self.outbox, self.trace = surroundings.config, surroundings.outbox, surroundings.trace
        self.grants, self.roots = surroundings.features.grants, surroundings.features.roots
        self.agent, self.approvals = agent, toolbox.approvals
        self.suggestions = Suggestions(servers)
        self._providers, self._owns_outbox = providers, owns_outbox

    @property
    def occasion(self) -> tuple[int, int]:
        """A value that changes with each turn and each direct call."""
        turns = sum(isinstance(message, UserMessage) for message in self.agent.conversation.messages)
        return turns, self._calls

    @property
    def provider(self) -> Provider:
        return self.agent.provider

    @property
    def model(self) -> str:
        """PROVIDER/MODEL, as written by the user."""
        return self.agent.provider.name

    async def set_model(self, label: str) -> None:
        """Use another model from the next turn on: PROVIDER/MODEL, or an alias.

        Raises:
            ConfigError: there is no such provider, or it has no key; the model is not changed.
        """
        self.agent.provider = provider = self._providers.usable(label)
        self._providers.warm_up(provider.name)

    async def ask(self, message: str | UserMessage) -> Reply:
        """Run one turn, after the servers have settled.

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

    async def roots_changed(self) -> None:
        """Notify the connected servers of changed roots, if their revision has that notification."""
        for connection in self._servers.connections.values():
            if connection.client:
                with suppress(HostError):
                    await connection.request("the new roots", lambda client: client.roots_changed())


@asynccontextmanager
async def open_host(
    config: Config,
    outbox: Outbox | None = None,
    *,
    interactive: bool = False,
    open_transport: OpenTransport = reach,
    open_page: OpenPage = open_page,
) -> AsyncIterator[Host]:
    """Everything a chat needs. The servers of `config` start in parallel; this function does not wait for them.

    Without an `outbox` the configuration answers every question, so that no reader is needed.
    `interactive`: a person reads the outbox and can be asked; `open_page` opens a page that they agreed to.
    On exit all servers are stopped, in bounded time.

    Raises:
        ConfigError: the configured model does not exist, or the trace cannot be written.
    """
    shown = outbox or Outbox(headless_policy(config))
    chat = config.settings.chat
    providers = Providers(config)
    provider = providers.get(config.model)
    tell_omissions(config, shown)
    seen = Chat(providers.get)
    features = ClientFeatures(config, shown, seen, interactive=interactive, open_page=open_page)
    verdicts = Verdicts(config.data_folder / "verdicts.json")
    with closing(Trace(shown, config.secrets, config.trace)) as trace:
        sign_ins = SignIns(config, trace.hide, shown.ask if interactive else None, open_page)
        surroundings = Surroundings(config, shown, features, trace, verdicts, sign_ins, open_transport)
        async with open_servers(surroundings) as servers:
            await servers.spawned()  # first, as the following import slows down everything else
            from agent.host.toolbox import HostToolbox

            approvals = Approvals(config.data_folder / "approvals.json", config.servers)
            toolbox = HostToolbox(servers, shown, approvals, chat.system, chat.max_tool_output)
            agent = Agent(
                provider, toolbox, shown, config.tool_policy, max_turns=chat.max_turns, max_tokens=chat.max_tokens
            )
            host = Host(agent, surroundings, servers, toolbox, providers, owns_outbox=outbox is None)
            seen.begin(host, toolbox)
            providers.warm_up(provider.name)
            try:
                yield host
            finally:
                await providers.aclose()
