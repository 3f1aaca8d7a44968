"""One server: its connection from start to end, and requests with bounded waiting time."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from agent import __version__
from agent.chat.events import Noticed, ServerChanged
from agent.host.errors import ServerUnavailable, explained, loss
from agent.host.faults import innermost
from agent.host.lifeline import Lifeline
from agent.host.offers import CHANGES, FETCH, Offers, fetch
from agent.host.patience import Patience, Waits
from agent.host.server_log import logged
from agent.host.server_view import ServerView, State
from agent.host.subscriptions import Subscriptions
from agent.host.surroundings import Surroundings
from agent.host.transports import (
    PLAIN,
    is_readable_on_the_way,
    kind_of,
    noise_of,
    noise_told,
    sign,
    stderr_of,
    too_slow,
)
from agent.mcp.background import background
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.lifecycle import NotOffered

if TYPE_CHECKING:
    from agent.mcp.client.client import Client

logger = logging.getLogger(__name__)
T = TypeVar("T")
Start = Callable[["Connection"], None]

OURSELVES = {"name": "mcp-chat", "version": __version__}
LOGS = "info"  # this log level and more severe ones


class Connection:
    """`live` runs one connection, as a task; the `start` argument schedules it. All else may be called at any time."""

    def __init__(self, name: str, surroundings: Surroundings, start: Start) -> None:
        config = surroundings.config
        self.name, self.table, self._mask = name, config.servers[name], surroundings.mask
        self.state: State = "stopped"
        self.detail = ""
        self.client: Client | None = None
        self.offers = Offers()
        self.subscriptions = Subscriptions()
        self.settled, self.ended = anyio.Event(), anyio.Event()
        self._outbox, self._features, self._start = surroundings.outbox, surroundings.features, start
        self._trace, self._verdicts = surroundings.trace, surroundings.verdicts
        self._transport = surroundings.open_transport(self.table)
        self._waits = Waits()
        self._access = surroundings.sign_ins.access(name, self.table, self._waits.standing_still)
        sign(self._transport, self._access)
        self.lifeline = Lifeline(self._transport, self._trace.tap(name))
        self._scope = anyio.CancelScope()
        self._latency: float | None = None
        self._noise_noticed = 0
        self._stale: set[str] = set()
        self._turned_stale = anyio.Event()
        self.ended.set()

    def begin(self) -> None:
        """Set the state of a new connection, before its task runs."""
        self.settled, self.ended = anyio.Event(), anyio.Event()
        self._scope, self._stale = anyio.CancelScope(), set()
        self.lifeline = Lifeline(self._transport, self._trace.tap(self.name))
        self._become("starting")
        if self._access:
            self._access.begin()
        if is_readable_on_the_way(self.table.url):
            self._outbox.emit(Noticed(self.name, "warning", PLAIN))

    async def live(self) -> None:
        """Connect, keep the lists fresh, disconnect. Always sets the final state and wakes all waiting tasks."""
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
        except Exception as error:  # an error of any kind only affects this server
            self._fail(innermost(error))

    def _fail(self, error: Exception) -> None:
        match error:
            case ConnectionLost() if self.state == "ready":
                self._become("lost", explained(error, self.table))
            case ConnectionLost():
                self._become("failed", f"{noise_told(self._transport)}{explained(error, self.table)}")
            case McpError() | Unreadable():
                self._become("failed", f"It refused to be initialized: {error}")
            case _:  # unexpected: neither a transport nor a sign-in should raise it
                logger.debug("the server %s", self.name, exc_info=error)
                self._become("failed", _broken(error))

    async def _limit_start(self) -> None:
        """Fail the start on timeout at once for those waiting for it; ending the process may take longer."""
        with self._waits.patient(patience := Patience(self.table.connect_timeout)):
            await anyio.sleep_forever()
        if self.state == "starting":
            self._become("failed", too_slow(self._transport, patience.limit))
            self.settled.set()
            self._scope.cancel()

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        """A connected client, after initialization and with the server's lists fetched."""
        async with self.lifeline.opened_ahead():
            from agent.mcp.client.client import Client  # imported while the server starts

            async with (
                Client(
                    self.lifeline,
                    answer=self._answer,
                    capabilities=self._features.capabilities(self.name),
                    on_notification=self._hear,
                    on_notice=self._notice,
                    on_deprecated=self._note,
                    client_info=OURSELVES,
                    protocol=self.table.protocol,
                    ping_seconds=self.table.ping,
                    verdicts=self._verdicts,
                ) as client,
                background() as tasks,
            ):
                tasks.start_soon(self._ask_for_logs, client)
                await self._introduce(client)
                yield client

    async def _ask_for_logs(self, client: Client) -> None:
        """Set the log level concurrently: newer servers log only on request, and older ones may respond slowly."""
        with suppress(McpError, NotOffered, Unreadable, ConnectionLost):
            await client.set_logging_level(LOGS)

    async def _introduce(self, client: Client) -> None:
        """Fetch the server's lists. The time for one of them is used as the measure of latency."""
        offers, started, self._latency = Offers(), anyio.current_time(), None
        for kind in FETCH:
            offers = await fetch(client, kind, offers, self._notice)
            self._latency = self._latency or anyio.current_time() - started
        await self._resubscribe(client)
        self.client, self.offers = client, offers
        self._become("ready", str(offers))
        self.settled.set()

    async def _resubscribe(self, client: Client) -> None:
        for uri in self.subscriptions.uris:
            try:
                await client.subscribe(uri)
            except (McpError, NotOffered, Unreadable) as error:
                self.subscriptions.discard(uri)
                self._notice(f"The changes of {uri} are not told any more: {error}")

    async def _watch(self, client: Client) -> None:
        """Keep the lists fresh until the connection is lost or stopped."""
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
                with anyio.move_on_after(self.table.timeout), suppress(ConnectionLost):  # which also ends `_watch`
                    self.offers = await fetch(client, kind, self.offers, self._notice)
            self._become("ready", str(self.offers))

    def stop(self) -> None:
        """Begin to disconnect; `ended` is set when that is done."""
        self._scope.cancel()

    async def request(self, what: str, send: Callable[[Client], Awaitable[T]], patience: Patience | None = None) -> T:
        """Send a request, waiting first if the server is starting, and restarting it once if the connection was lost.

        Raises:
            ServerUnavailable: it is not running, the connection was lost, or it did not respond in time.
            McpError: it responded with an error.
        """
        client, patience = await self._usable(), patience or Patience(self.table.timeout)
        try:
            with self._waits.patient(patience):
                return await send(client)
        except ConnectionLost as error:
            raise ServerUnavailable(self._mask(loss(self.name, self.table, error))) from error
        except (NotOffered, Unreadable) as error:
            raise ServerUnavailable(f"{self.name}: {error}") from error
        except McpError:
            raise
        except Exception as error:  # if a transport fails unexpectedly, the request fails with this error
            raise ServerUnavailable(self._mask(f"{self.name}: {_broken(error)}")) from error
        raise ServerUnavailable(f"{self.name} did not answer {what} within {patience.limit}.")

    async def subscribe(self, uri: str) -> None:
        """Subscribe to updates of the resource. Raises as `request` does."""
        await self.request(f"the subscription to {uri}", lambda client: client.subscribe(uri))
        self.subscriptions.add(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Unsubscribe. Raises as `request` does."""
        self.subscriptions.discard(uri)
        await self.request(f"the end of the subscription to {uri}", lambda client: client.unsubscribe(uri))

    async def _usable(self) -> Client:
        if self.state == "ready" and self.lifeline.lost.is_set():
            await self.ended.wait()
        if self.state == "lost":
            self._start(self)
        await self.settled.wait()
        if self.client is None:
            raise ServerUnavailable(f"The server {self.name} is not connected: {self.detail or 'it was stopped.'}")
        return self.client

    async def _answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with self._waits.standing_still():
            return await self._features.answer(self.name)(method, params)

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if stale := CHANGES.get(method):
            self._stale.update(stale)
            self._turned_stale.set()
        elif method == "notifications/message":
            self._outbox.emit(logged(self.name, params))
        elif method == "notifications/resources/updated" and self.subscriptions.is_news(str(params.get("uri"))):
            said = f"{params['uri']} has changed; /read {params['uri']} shows it."
            self._outbox.emit(Noticed(self.name, "notice", said))
        else:
            self._features.hear(self.name, method, params)

    def _notice(self, text: str) -> None:
        """Emit a warning. Invalid output on stdout has the level "info" only, as `noise` counts it anyway."""
        is_noise, self._noise_noticed = self._noise > self._noise_noticed, self._noise
        self._outbox.emit(Noticed(self.name, "info" if is_noise else "warning", self._mask(text)))

    def _note(self, text: str) -> None:
        """Emit a notice of the level "info", mainly for the author of the server."""
        self._outbox.emit(Noticed(self.name, "info", self._mask(text)))

    def _become(self, state: State, detail: str = "") -> None:
        detail = self._mask(detail)
        if (state, detail) == (self.state, self.detail):
            return
        self.state, self.detail = state, detail
        self._outbox.emit(ServerChanged(self.name, state, detail))

    @property
    def _noise(self) -> int:
        return noise_of(self._transport)

    @property
    def _stderr(self) -> str:
        return self._mask(stderr_of(self._transport))

    def view(self) -> ServerView:
        return ServerView(
            self.name,
            self.state,
            self.detail,
            transport=kind_of(self.table, self._transport),
            revision=self.client.revision if self.client else "",
            latency=self._latency,
            tools=len(self.offers.tools),
            resources=len(self.offers.resources),
            prompts=len(self.offers.prompts),
            stderr=self._stderr,
            noise=self._noise,
            required=self.table.required,
            sign_in=self._access.state if self._access else "",
        )


def _broken(error: Exception) -> str:
    return f"The connection broke down: {type(error).__name__}: {str(error).rstrip('.')}."
