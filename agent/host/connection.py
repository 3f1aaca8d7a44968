"""One server: its life from start to end, and calls to it that never wait for ever."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio

from agent.chat.events import Noticed, ServerChanged
from agent.chat.outbox import Outbox
from agent.host.client_features import ClientFeatures
from agent.host.config import Config
from agent.host.config_models import ServerTable
from agent.host.errors import ServerUnavailable
from agent.host.lifeline import Lifeline
from agent.host.offers import CHANGES, FETCH, Offers, fetch
from agent.host.patience import Patience
from agent.mcp.background import background
from agent.mcp.envelope import ConnectionLost, Transport
from agent.mcp.lifecycle import NotOffered
from agent.mcp.session import McpError, Unreadable
from agent.mcp.transports.stdio import StdioTransport, stdio

if TYPE_CHECKING:
    from agent.mcp.client import Client

T = TypeVar("T")
State = Literal["starting", "ready", "failed", "lost", "stopped"]
OpenTransport = Callable[[ServerTable], Transport]
Start = Callable[["Connection"], None]

SHOWN_OF_STDERR = 1_000  # characters of it in a sentence about a failure


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server as it is now, without secrets.

    `latency` is what one request took, in seconds; `noise` counts what it printed on stdout that is no message, and
    `stderr` is the end of what it wrote there.
    """

    name: str
    state: State
    detail: str = ""
    transport: str = ""
    revision: str = ""
    latency: float | None = None
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    stderr: str = ""
    noise: int = 0
    required: bool = False


def start_process(table: ServerTable) -> Transport:
    return stdio(table.argv, env=table.environment, cwd=table.cwd)


class Connection:
    """`live` is one life, run as a task; `start` begins one. All else may be called at any time."""

    def __init__(
        self,
        name: str,
        config: Config,
        outbox: Outbox,
        features: ClientFeatures,
        start: Start,
        open_transport: OpenTransport = start_process,
    ) -> None:
        self.name, self.table, self._mask = name, config.servers[name], config.mask
        self.state: State = "stopped"
        self.detail = ""
        self.client: Client | None = None
        self.offers = Offers()
        self.settled, self.ended = anyio.Event(), anyio.Event()
        self._outbox, self._features, self._start = outbox, features, start
        self._transport = open_transport(self.table)
        self.lifeline = Lifeline(self._transport)
        self._scope = anyio.CancelScope()
        self._latency: float | None = None
        self._patiences: set[Patience] = set()
        self._questions = self._noise_noticed = 0
        self._stale: set[str] = set()
        self._turned_stale = anyio.Event()
        self.ended.set()

    def begin(self) -> None:
        """What is true from the moment it is decided to start it, before its task runs."""
        self.settled, self.ended = anyio.Event(), anyio.Event()
        self._scope, self._stale = anyio.CancelScope(), set()
        self.lifeline = Lifeline(self._transport)
        self._become("starting")

    async def live(self) -> None:
        """Connect, watch, leave. However it ends, the state says how, and nobody is left waiting."""
        try:
            async with background() as tasks:
                tasks.start_soon(self._limit_start)
                await self._live()
        finally:
            if self.state in ("starting", "ready"):
                self._become("stopped")
            self.client = None
            for event in (self.lifeline.opened, self.settled, self.ended):
                event.set()

    async def _live(self) -> None:
        try:
            with self._scope:
                async with self._connect() as client:
                    await self._watch(client)
        except ConnectionLost as error:
            self._become("lost" if self.state == "ready" else "failed", str(error))
        except (McpError, Unreadable) as error:
            self._become("failed", f"It refused to be initialized: {error}")

    async def _limit_start(self) -> None:
        """Whoever waits for the start hears at once that it failed; ending the process may take a little longer."""
        await anyio.sleep(self.table.connect_timeout)
        if self.state == "starting":
            stderr = self._stderr.strip()[-SHOWN_OF_STDERR:]
            said = f" The end of its stderr:\n{stderr}" if stderr else ""
            self._become("failed", f"It did not answer within {self.table.connect_timeout:g} s.{said}")
            self.settled.set()
            self._scope.cancel()

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        """A client that has been introduced and whose lists are known."""
        async with self.lifeline as channel:
            from agent.mcp.client import Client  # while the server starts, and not before

            async with Client(
                nullcontext(channel),
                answer=self._answer,
                capabilities=self._features.capabilities(self.name),
                on_notification=self._hear,
                on_notice=self._notice,
            ) as client:
                await self._introduce(client)
                yield client

    async def _introduce(self, client: Client) -> None:
        """Learn what it offers. How long one list takes is as good a measure of its latency as any."""
        offers, started, self._latency = Offers(), anyio.current_time(), None
        for kind in FETCH:
            offers = await fetch(client, kind, offers, self._notice)
            self._latency = self._latency or anyio.current_time() - started
        self.client, self.offers = client, offers
        self._become("ready", str(offers))
        self.settled.set()

    async def _watch(self, client: Client) -> None:
        """Keep the lists fresh until the server is gone, or is told to go."""
        async with background() as tasks:
            tasks.start_soon(self._refresh, client)
            await self.lifeline.lost.wait()
        raise self.lifeline.reason

    async def _refresh(self, client: Client) -> None:
        while True:
            await self._turned_stale.wait()
            self._turned_stale = anyio.Event()
            while self._stale:
                kind = self._stale.pop()
                with anyio.move_on_after(self.table.timeout), suppress(ConnectionLost):  # which ends `_watch` too
                    self.offers = await fetch(client, kind, self.offers, self._notice)
            self._become("ready", str(self.offers))

    def stop(self) -> None:
        """Begin to leave; `ended` is set when it is done."""
        self._scope.cancel()

    async def request(self, what: str, send: Callable[[Client], Awaitable[T]], patience: Patience | None = None) -> T:
        """Ask the server, waiting first if it is starting, and starting it once more if it was lost.

        Raises:
            ServerUnavailable: it is not there, went away, or did not answer in time.
            McpError: it answered with an error.
        """
        client = await self._usable()
        patience = patience or Patience(self.table.timeout)
        if self._questions:
            patience.pause()
        self._patiences.add(patience)
        try:
            with patience.scope:
                return await send(client)
        except ConnectionLost as error:
            raise ServerUnavailable(self._mask(f"The server {self.name} is gone: {error}")) from error
        except (NotOffered, Unreadable) as error:
            raise ServerUnavailable(f"{self.name}: {error}") from error
        finally:
            self._patiences.discard(patience)
        raise ServerUnavailable(f"{self.name} did not answer {what} within {self.table.timeout:g} s.")

    async def _usable(self) -> Client:
        if self.lifeline.lost.is_set():
            await self.ended.wait()
        if self.state == "lost":
            self._start(self)
        await self.settled.wait()
        if self.client is None:
            raise ServerUnavailable(f"The server {self.name} is not connected: {self.detail or 'it was stopped.'}")
        return self.client

    async def _answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """While the server waits for us, the time of its own calls stands still."""
        self._questions += 1
        for patience in self._patiences:
            patience.pause()
        try:
            return await self._features.answer(self.name)(method, params)
        finally:
            self._questions -= 1
            for patience in () if self._questions else self._patiences:
                patience.resume()

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if stale := CHANGES.get(method):
            self._stale.update(stale)
            self._turned_stale.set()
        elif method == "notifications/message":
            data, logger = params.get("data"), params.get("logger")
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            level = params.get("level")
            said = f"{logger}: {text}" if isinstance(logger, str) and logger else text
            self._outbox.emit(Noticed(self.name, level if isinstance(level, str) else "info", said))

    def _notice(self, text: str) -> None:
        """What it prints on stdout that is no message is counted anyway, and of interest to few."""
        level = "info" if self._noise > self._noise_noticed else "warning"
        self._noise_noticed = self._noise
        self._outbox.emit(Noticed(self.name, level, self._mask(text)))

    def _become(self, state: State, detail: str = "") -> None:
        detail = self._mask(detail)
        if (state, detail) == (self.state, self.detail):
            return
        self.state, self.detail = state, detail
        self._outbox.emit(ServerChanged(self.name, state, detail))

    @property
    def _noise(self) -> int:
        return self._transport.noise.count if isinstance(self._transport, StdioTransport) else 0

    @property
    def _stderr(self) -> str:
        return self._mask(self._transport.stderr_tail) if isinstance(self._transport, StdioTransport) else ""

    def view(self) -> ServerView:
        return ServerView(
            self.name,
            self.state,
            self.detail,
            transport="stdio" if isinstance(self._transport, StdioTransport) else "memory",
            revision=self.client.revision if self.client else "",
            latency=self._latency,
            tools=len(self.offers.tools),
            resources=len(self.offers.resources),
            prompts=len(self.offers.prompts),
            stderr=self._stderr,
            noise=self._noise,
            required=self.table.required,
        )
