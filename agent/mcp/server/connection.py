"""The server's side of one connection: the handshake, subscriptions, and requests sent to the client."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from agent.mcp.background import background
from agent.mcp.envelope import Channel, Closed, Garbled
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Notification, Params, Request, RequestId
from agent.mcp.lifecycle import STATELESS_REVISIONS, declares, settle
from agent.mcp.peer import Stray
from agent.mcp.protocol import RESOURCE_NOT_FOUND, RESOURCE_UPDATED, REVISION_HEADER
from agent.mcp.server.context import Context
from agent.mcp.server.dialogue import LEVELS, Caller, ClientRefused
from agent.mcp.server.event_loop import EventLoop
from agent.mcp.server.ledger import Ledger
from agent.mcp.server.methods import serve
from agent.mcp.server.service import Json, Life, Service
from agent.mcp.server.stateless import Stateless, is_stateless
from agent.mcp.server.subscribers import Change, within
from agent.mcp.session import Session

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

logger = logging.getLogger(__name__)

GRACE_SECONDS = 2.0  # for handlers that still run when the client leaves
ASKING_SECONDS = 3_600.0  # for a person to answer
LOGS_KEPT = 1_000  # most recent log messages queued for a client


@dataclass(slots=True)
class SessionDialogue:
    """The `Dialogue` of the handshake era: questions are requests sent to the client while its own request is pending.

    `streams` is the channel, if the transport has a response stream for each request (Streamable HTTP).
    """

    session: Session
    about: RequestId
    streams: Channel | None = None
    is_task: bool = False
    _ledger: Ledger | None = None

    async def ask(self, method: str, params: Params | None, key: str | None) -> Any:
        try:
            with anyio.fail_after(ASKING_SECONDS):
                return await self.session.request(method, params, about=self.about)
        except McpError as error:
            raise ClientRefused(error.code, f"The client refused {method}: {error.message}", error.data) from error

    async def tell(self, method: str, params: Params) -> None:
        await anyio.lowlevel.checkpoint()  # a tool that only reports must be cancellable too
        await self.session.notify(method, params, about=self.about)

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        self._ledger = self._ledger or Ledger()  # created lazily: most calls need none
        return await self._ledger.once(key, compute)

    async def begin_task(self) -> None:
        """The handshake era has no tasks on the server's initiative."""

    async def release(self) -> None:
        if self.streams:
            await self.streams.send(Closed(self.about))


class Connection:
    """The `Handler` of a server's session. A client may speak both eras on one connection."""

    def __init__(self, service: Service, life: Life, channel: Channel) -> None:
        self._identity, self._catalogue, self._lifespan = service.identity, service.catalogue, life.lifespan
        self._stateless, self._channel = Stateless(service, life), channel
        self._caller = Caller()
        self._declared: Json = {}
        self._is_initialized = self._has_discovered = False
        self._subscribed: set[str] = set()
        self._staying = anyio.CancelScope()
        self._changes: dict[Change, None] = {}
        self._logs: deque[Params] = deque(maxlen=LOGS_KEPT)
        self._loop = EventLoop()
        self._tasks: TaskGroup | None = None
        self._is_telling = False

    async def run(self, session: Session) -> None:
        """Serve until the client disconnects; handlers that still run then get GRACE_SECONDS to finish."""
        self._session = session
        async with background() as self._tasks:
            try:
                with self._staying:
                    await session.closed.wait()
                self._stateless.listening.end()
                with anyio.move_on_after(GRACE_SECONDS):
                    await session.idle()
            finally:
                self._tasks = None  # changes are dropped from here on

    def takes_batches(self) -> bool:
        """Whether the negotiated revision has JSON-RPC batches."""
        return self._caller.revision == "2025-03-26"

    def announce(self, change: Change) -> None:
        """Notify the client of a change, if it subscribed to it. Thread-safe; does not wait."""
        self._stateless.listening.announce(change)
        self._loop.run(self._note, change)

    def log(self, level: str, params: Params) -> None:
        """Send a log message, if the client wants that level. Thread-safe; does not wait."""
        self._loop.run(self._note_log, level, params)

    def end_listening(self) -> None:
        """End all `subscriptions/listen` requests."""
        self._stateless.listening.end()

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        params = request.params or {}
        if self._is_stateless(request, context):
            tell = partial(self._session.notify, about=request.id)
            result = await self._stateless.answer(request, context, tell)
            self._has_discovered |= request.method == "server/discover"
            return result
        match request.method:
            case "initialize":
                return self._initialize(params)
            case "ping" | "shutdown":  # not in the protocol; some hosts send it before they exit
                return {}
        self._is_initialized = True  # even if the client never sent the notification
        match request.method:
            case "logging/setLevel":
                return self._set_level(params)
            case "resources/subscribe":
                return self._subscribe(params)
            case "resources/unsubscribe":
                self._subscribed.discard(self._resource(params))
                return {}
        dialogue = SessionDialogue(self._session, request.id, self._channel if "headers" in context else None)
        call = Context(self._caller, dialogue, request, self._lifespan, context.get("token"))
        return await serve(self._catalogue, request.method, params, call)

    def on_notification(self, notification: Notification) -> None:
        match notification.method:
            case "notifications/initialized":
                self._is_initialized = True
            case "exit":  # sent after `shutdown`, as in LSP
                self._staying.cancel()

    def on_trouble(self, trouble: Garbled | Stray) -> None:
        if isinstance(trouble, Garbled):
            logger.warning("What came from the client is no message (%s): %r", trouble.reason, trouble.excerpt)
        else:
            logger.debug("The client answered what was not asked: %r", trouble.outcome.id)

    def _is_stateless(self, request: Request, context: Mapping[str, Any]) -> bool:
        """Whether it has the stateless envelope, or must have it since the client began with `server/discover`."""
        if _is_handshake(request, context):
            return False
        return is_stateless(request) or (self._has_discovered and request.method != "shutdown")

    def _initialize(self, params: Params) -> Json:
        self._has_discovered = False
        revision = settle(params.get("protocolVersion"))
        caller = self._caller
        caller.revision = revision
        caller.capabilities, caller.info = _object(params.get("capabilities")), _object(params.get("clientInfo"))
        self._declared = self._catalogue.capabilities(revision)
        return {
            "protocolVersion": revision,
            "capabilities": self._declared,
            "serverInfo": self._identity.info(revision),
            **self._identity.hint(),
        }

    def _set_level(self, params: Params) -> Json:
        level = params.get("level")
        if level not in LEVELS:
            raise McpError(INVALID_PARAMS, f"level must be one of {', '.join(LEVELS)}")
        self._caller.log_level = level
        return {}

    def _subscribe(self, params: Params) -> Json:
        uri = self._resource(params)
        if self._catalogue.find_resource(uri) is None:
            raise McpError(RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})
        self._subscribed.add(uri)
        return {}

    def _resource(self, params: Params) -> str:
        if not (self._catalogue.resources or self._catalogue.templates):
            raise McpError(METHOD_NOT_FOUND, "This server has no resources.")
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise McpError(INVALID_PARAMS, "uri must be a string")
        return uri

    def _note(self, change: Change) -> None:
        if self._wants(change):
            self._changes[change] = None
            self._tell_soon()

    def _note_log(self, level: str, params: Params) -> None:
        if self._declared and self._caller.wants_log(level):
            self._logs.append(params)
            self._tell_soon()

    def _wants(self, change: Change) -> bool:
        method, name = change
        if name is None:
            return self._is_initialized and declares(self._declared, method.split("/")[1])
        return method == RESOURCE_UPDATED and any(within(name, self._subscribed))

    def _tell_soon(self) -> None:
        if self._tasks and not self._is_telling:
            self._is_telling = True
            self._tasks.start_soon(self._tell)

    async def _tell(self) -> None:
        while self._changes or self._logs:
            changes, self._changes = self._changes, {}
            for method, uri in changes:
                await self._session.notify(method, None if uri is None else {"uri": uri})
            while self._logs:
                await self._session.notify("notifications/message", self._logs.popleft())
        self._is_telling = False


def _is_handshake(request: Request, context: Mapping[str, Any]) -> bool:
    """Whether this is an `initialize`, whatever its `_meta` says, unless a header names the stateless era."""
    return request.method == "initialize" and context.get("headers", {}).get(REVISION_HEADER) not in STATELESS_REVISIONS


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
