"""One client of the handshake era as its server sees it: what was agreed, what it subscribed to, how to ask it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel

from agent.mcp.background import background
from agent.mcp.catalogue import Catalogue
from agent.mcp.context import LEVELS, Caller, Context
from agent.mcp.envelope import Garbled
from agent.mcp.features import RESOURCE_NOT_FOUND
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Notification, Params, Request, RequestId
from agent.mcp.lifecycle import at_least, declares, settle
from agent.mcp.methods import serve
from agent.mcp.peer import Stray
from agent.mcp.session import McpError, Session
from agent.mcp.signature import Json

logger = logging.getLogger(__name__)

GRACE_SECONDS = 2.0  # for handlers that still run when the client leaves
ASKING_SECONDS = 3_600.0  # a person may be slow to answer, but not for ever

Change = tuple[str, str | None]
"""The notification that announces it, and the URI it is about. Changes are level triggers: equal ones are one."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What `initialize` answers about the server itself."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None

    def info(self, revision: str) -> Json:
        titled = {"title": self.title} if self.title and at_least(revision, "2025-06-18") else {}
        return {"name": self.name, **titled, "version": self.version}


@dataclass(slots=True)
class SessionDialogue:
    """Questions are requests of our own, sent while the client's request waits."""

    session: Session
    about: RequestId
    _done: dict[str, Any] = field(default_factory=dict)

    async def ask(self, method: str, params: Params | None, key: str | None) -> Any:
        with anyio.fail_after(ASKING_SECONDS):
            return await self.session.request(method, params, about=self.about)

    async def tell(self, method: str, params: Params) -> None:
        await anyio.lowlevel.checkpoint()  # a tool that only reports must be cancellable too
        await self.session.notify(method, params, about=self.about)

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        if key not in self._done:
            self._done[key] = await compute()
        return self._done[key]


class Connection:
    """The `Handler` of a server's session."""

    def __init__(self, identity: Identity, catalogue: Catalogue, lifespan: Any) -> None:
        self._identity, self._catalogue, self._lifespan = identity, catalogue, lifespan
        self._caller = Caller()
        self._declared: Json = {}
        self._subscribed: set[str] = set()
        self._left = anyio.Event()
        self._changes: dict[Change, None] = {}
        self._changed = anyio.Event()
        self._thread, self._token = threading.get_ident(), anyio.lowlevel.current_token()

    async def run(self, session: Session) -> None:
        """Serve until the client leaves; what still runs then has a moment to finish."""
        self._session = session
        async with background() as tasks:
            tasks.start_soon(self._announce)
            tasks.start_soon(self._wait_for_end)
            await self._left.wait()
            with anyio.move_on_after(GRACE_SECONDS):
                await session.idle()

    def announce(self, change: Change) -> None:
        """Tell the client soon, if it wants to know. May be called from any thread."""
        if threading.get_ident() == self._thread:
            self._note(change)
        else:
            anyio.from_thread.run_sync(self._note, change, token=self._token)

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        params = request.params or {}
        match request.method:
            case "initialize":
                return self._initialize(params)
            case "ping" | "shutdown":  # no part of the protocol, but some hosts take leave with it
                return {}
            case "logging/setLevel":
                return self._set_level(params)
            case "resources/subscribe":
                return self._subscribe(params)
            case "resources/unsubscribe":
                self._subscribed.discard(self._resource(params))
                return {}
        dialogue = SessionDialogue(self._session, request.id)
        call = Context(self._caller, dialogue, request.id, _object(params.get("_meta")), self._lifespan)
        return await serve(self._catalogue, request.method, params, call)

    def on_notification(self, notification: Notification) -> None:
        if notification.method == "exit":  # what follows `shutdown` elsewhere
            self._left.set()

    def on_trouble(self, trouble: Garbled | Stray) -> None:
        if isinstance(trouble, Garbled):
            logger.warning("What came from the client is no message (%s): %r", trouble.reason, trouble.excerpt)
        else:
            logger.debug("The client answered what was not asked: %r", trouble.outcome.id)

    def _initialize(self, params: Params) -> Json:
        revision = settle(params.get("protocolVersion"))
        caller = self._caller
        caller.revision = revision
        caller.capabilities, caller.info = _object(params.get("capabilities")), _object(params.get("clientInfo"))
        self._declared = self._catalogue.capabilities(revision)
        hint = {"instructions": self._identity.instructions} if self._identity.instructions else {}
        return {
            "protocolVersion": revision,
            "capabilities": self._declared,
            "serverInfo": self._identity.info(revision),
            **hint,
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
            self._changed.set()

    def _wants(self, change: Change) -> bool:
        method, uri = change
        if uri is None:
            return declares(self._declared, method.split("/")[1])
        return any(uri == known or uri.startswith(known.rstrip("/") + "/") for known in self._subscribed)

    async def _announce(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            changes, self._changes = self._changes, {}
            for method, uri in changes:
                await self._session.notify(method, None if uri is None else {"uri": uri})

    async def _wait_for_end(self) -> None:
        await self._session.closed.wait()
        self._left.set()


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
