"""How a client opens a session: it finds out which era a server belongs to, and negotiates the revision.

Three things are unknown at first: whether the server is stateless, whether it survives a request before `initialize`,
and how long it takes to start. So the first request is `server/discover`. If the answer is that of an older server, or
is late, `initialize` follows on the same connection; a server that exits on `server/discover` is started once more,
with `initialize` first. The outcome may be stored, and decides only what is tried first the next time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from agent.mcp import lifecycle
from agent.mcp.background import background
from agent.mcp.client.deprecations import HTTP_SSE
from agent.mcp.client.listener import Listener
from agent.mcp.client.probing import (
    Again,
    Finding,
    Modern,
    Older,
    is_modern_refusal,
    read_discovery,
    read_refusal,
    undeclared,
)
from agent.mcp.envelope import Addressed, ConnectionLost, Located, Transport, fell_back
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import METHOD_NOT_FOUND
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS, STATELESS_REVISIONS, Agreement, HandshakeFailed
from agent.mcp.session import Session, open_session

AUTO = "auto"
PROBE_SECONDS = 2.0  # for the answer, from the first message of the server
SILENCE_SECONDS = 5.0  # for a first message, before the handshake is tried as well
TIMES_ASKED = 2  # for a server that asks for another revision


class Verdicts(Protocol):
    """A store of the revision that each server was found to support. Keys may contain secrets."""

    def get(self, key: str, /) -> str | None: ...

    def set(self, key: str, revision: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Introduction:
    """The `clientInfo` (`client`), and the revision wanted (`protocol`): a revision, or "auto"."""

    client: Mapping[str, Any]
    protocol: str = AUTO
    verdicts: Verdicts | None = None


@asynccontextmanager
async def open_conversation(
    transport: Transport, listener: Listener, introduction: Introduction
) -> AsyncIterator[tuple[Opening, Agreement]]:
    """An open session, and what was negotiated.

    Raises:
        ConnectionLost: no connection, or (HandshakeFailed) no common revision.
        McpError: the server refused the handshake.
        Unreadable: its first response could not be parsed.
    """
    key = key_of(transport)
    verdicts = introduction.verdicts if key else None
    remembered = None if verdicts is None else verdicts.get(key)
    shakes_first = remembered in HANDSHAKE_REVISIONS
    for last in (introduction.protocol != AUTO or not key, True):
        async with transport as channel, open_session(channel, listener, batching=listener.has_batches) as session:
            opening = Opening(session, listener, introduction.client, key)
            try:
                agreement = await opening.begin(introduction.protocol, shakes_first)
            except ConnectionLost as error:
                if last or not session.closed.is_set() or isinstance(error, HandshakeFailed):
                    raise
                shakes_first = not shakes_first
                continue
            if fell_back(channel):
                listener.note_deprecated(HTTP_SSE)
            if verdicts is not None and agreement.revision != remembered:
                verdicts.set(key, agreement.revision)
            yield opening, agreement
            return


def key_of(transport: Transport) -> str:
    """A key that identifies the server of a transport; empty if it has none, and cannot be entered again."""
    if isinstance(transport, Addressed):
        return transport.key
    if isinstance(transport, Located):
        from agent.mcp.exchange import origin

        return origin(transport.url)
    return ""


class Opening:
    """Opens a session, or a new one in its place. `key` identifies the server, if that is known."""

    def __init__(self, session: Session, listener: Listener, client: Mapping[str, Any], key: str = "") -> None:
        self.session, self.listener, self.key, self._client = session, listener, key, client

    @property
    def is_http(self) -> bool:
        return self.key.startswith(("http://", "https://"))

    def meta(self, revision: str) -> dict[str, Any]:
        """The `_meta` of every request in the stateless era, which replaces the handshake."""
        return lifecycle.request_meta(revision, self.listener.declared, self._client)

    async def begin(self, protocol: str, shakes_first: bool) -> Agreement:
        if protocol in HANDSHAKE_REVISIONS:
            return await self.shake_hands(protocol)
        if protocol in STATELESS_REVISIONS:
            return await self._insist(protocol)
        if shakes_first:
            try:
                return await self.shake_hands()
            except (McpError, Unreadable, ConnectionLost):
                if self.session.closed.is_set():
                    raise
        return await self._find_out()

    async def _insist(self, protocol: str) -> Agreement:
        """Use the stateless era, without a handshake as fallback. Servers need not implement `server/discover`."""
        match await self.discover():
            case Modern(agreement):
                return agreement
            case Older(code) if code == METHOD_NOT_FOUND:
                return undeclared()
        raise HandshakeFailed(f"The server does not speak protocol version {protocol}, which was asked for.")

    async def _find_out(self) -> Agreement:
        probe = Probe(self.session, self.discover)
        async with background() as tasks:
            tasks.start_soon(probe.run)
            match await probe.finding():
                case Modern(agreement):
                    return agreement
                case Exception() as error:
                    raise error
            with probe.handshake:
                return await self._shake_hands_or_hear_why_not()
            assert isinstance(probe.outcome, Modern), "nothing else cuts the handshake short"
            return probe.outcome.agreement

    async def _shake_hands_or_hear_why_not(self) -> Agreement:
        """Do the handshake; or discovery, if a stateless server, too slow for the probe, refuses `initialize`."""
        try:
            return await self.shake_hands()
        except McpError as refusal:
            if not is_modern_refusal(refusal.code, refusal.data):
                raise
            match await self.discover():
                case Modern(agreement):
                    return agreement
                case Older(code) if code == METHOD_NOT_FOUND:
                    return undeclared()
            raise

    async def discover(self) -> Finding:
        """Raises HandshakeFailed if there is no common revision."""
        finding: Finding = Again(STATELESS_REVISIONS[-1])
        for _ in range(TIMES_ASKED):
            if isinstance(finding, Again):
                finding = await self._discover(finding.revision)
        return finding

    async def _discover(self, revision: str) -> Finding:
        try:
            said = await self.session.request("server/discover", {"_meta": self.meta(revision)})
        except McpError as error:
            return read_refusal(error.code, error.message, error.data)
        except Unreadable:
            return Older()
        except ConnectionLost as error:
            if self.session.closed.is_set() or not _was_answered(error):
                raise
            return Older()
        return read_discovery(said)

    async def shake_hands(self, wanted: str | None = None) -> Agreement:
        """Raises HandshakeFailed if there is no common revision, or it is not `wanted`."""
        offered = [wanted or lifecycle.NEWEST_HANDSHAKE]
        while True:
            self.listener.revision = offered[-1]
            params = lifecycle.offer(offered[-1], self.listener.declared, self._client)
            try:
                agreement = lifecycle.accept(await self.session.request("initialize", params), wanted)
            except McpError as error:
                another = None if wanted else lifecycle.next_offer(error.message, error.data, offered)
                if another is None:
                    raise (lifecycle.refused(error.message, offered) if len(offered) > 1 else error) from error
                offered.append(another)
            else:
                self.listener.revision = agreement.revision
                await self.session.notify("notifications/initialized")
                return agreement


class Probe:
    """A `server/discover` in flight. An answer that arrives during the handshake cancels `handshake`."""

    def __init__(self, session: Session, discover: Callable[[], Awaitable[Finding]]) -> None:
        self._session, self._discover = session, discover
        self.outcome: Finding | Exception | None = None
        self.handshake = anyio.CancelScope()
        self._settled = anyio.Event()

    async def run(self) -> None:
        try:
            self.outcome = await self._discover()
        except (ConnectionLost, McpError) as error:
            self.outcome = error
        if isinstance(self.outcome, Modern):
            self.handshake.cancel()
        self._settled.set()

    async def finding(self) -> Finding | Exception | None:
        """The outcome; None if it takes too long, or leaves the caller too little time for a handshake."""
        spare = (anyio.current_effective_deadline() - anyio.current_time()) / 2
        with anyio.move_on_after(min(SILENCE_SECONDS, spare)):
            await self._session.heard.wait()
        if self._session.heard.is_set():
            with anyio.move_on_after(min(PROBE_SECONDS, spare)):
                await self._settled.wait()
        return self.outcome


def _was_answered(error: ConnectionLost) -> bool:
    """Whether there was an HTTP answer that tells the era, which neither a network error nor a 401 does."""
    from agent.mcp.exchange import Unauthorized, Unreachable

    return not isinstance(error, Unauthorized | Unreachable)
