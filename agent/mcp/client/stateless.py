"""The client in the stateless era: self-contained requests, which the server may answer with input requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from agent.mcp import lifecycle, protocol
from agent.mcp.client import tasks
from agent.mcp.client.cache import Cache, key_of
from agent.mcp.client.input_requests import answer_all, read_input_required
from agent.mcp.client.mirrors import Mirrors
from agent.mcp.client.opening import Opening
from agent.mcp.client.pages import read_all
from agent.mcp.client.stateless_requests import StatelessRequests
from agent.mcp.client.subscriptions import Subscriptions, without_tag
from agent.mcp.client.tracing import TraceContext
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import INVALID_PARAMS, Notification, Params
from agent.mcp.lifecycle import Agreement, NotOffered
from agent.mcp.session import OnProgress, OnSending

ROUNDS = 10  # of input requests that one request may be answered with
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.25  # seconds before a retry where only a `requestState` was given


class StatelessClient:
    """Implements `agent.mcp.client.client.Dialect`. Its subscriptions run in `background`."""

    def __init__(
        self, opening: Opening, agreement: Agreement, background: TaskGroup, trace: TraceContext | None
    ) -> None:
        self.agreement, self._listener = agreement, opening.listener
        self._handle = opening.session.handle
        self._mirrors = Mirrors(self._listener.notice, strict=opening.is_http)
        meta = opening.meta(agreement.revision)
        self._requests = StatelessRequests(opening.session, meta, self._mirrors, trace, self._list_tools)
        self._cache = Cache()
        self._subscriptions = Subscriptions(background, self._listen, self._tell)
        opening.session.stop_answering()
        self._listener.revision, self._listener.intercept = agreement.revision, self._hear
        self._subscriptions.follow_lists(agreement.capabilities)

    async def page(self, method: str, params: Params | None = None) -> Any:
        self._subscriptions.note_reading()
        try:
            return await self.request(method, params)
        except McpError as error:
            if error.code == INVALID_PARAMS:  # a cursor of a list that has changed
                self._cache.drop(method)
            raise

    async def request(self, method: str, params: Params | None = None, on_progress: OnProgress | None = None) -> Any:
        if not lifecycle.offers(self.agreement, method):
            raise NotOffered(f"The server does not offer {method}.")
        params = params or {}
        key = key_of(method, params)
        if key and (kept := self._cache.get(key, anyio.current_time())) is not None:
            return kept
        age = self._cache.age(method)
        result, was_asked = await self._converse(method, params, on_progress)
        if method == "tools/list":
            result = self._mirrors.learn(result)
        if key and not was_asked and self._cache.age(method) == age:
            self._cache.put(key, result, anyio.current_time())
        return result

    async def call_tool(self, params: Params, on_progress: OnProgress | None) -> Any:
        return await self.request("tools/call", params, on_progress)

    async def ping(self) -> None:
        """This era has no ping; `server/discover`, which every server answers, takes its place."""
        await self._requests.send("server/discover", {})

    async def set_logging_level(self, level: str) -> None:
        if not lifecycle.offers(self.agreement, "logging/setLevel"):
            raise NotOffered("The server does not offer logging.")
        self._requests.log_from(level)

    async def subscribe(self, uri: str) -> None:
        if not lifecycle.offers(self.agreement, "resources/subscribe"):
            raise NotOffered("The server does not offer resources/subscribe.")
        await self._subscriptions.add(uri)

    async def unsubscribe(self, uri: str) -> None:
        self._subscriptions.remove(uri)

    async def roots_changed(self) -> None:
        """Nothing to do: servers of this era keep no list of roots."""

    async def _converse(
        self, method: str, params: Params, on_progress: OnProgress | None
    ) -> tuple[Mapping[str, Any], bool]:
        """The complete result, and whether input was requested before it."""
        added: Params = {}
        for round in range(ROUNDS):
            result = await self._requests.send(method, params | added, on_progress)
            match result.get("resultType"):
                case None | "complete":
                    return result, bool(added)
                case protocol.INPUT_REQUIRED:
                    added = await self._answer(method, result, round)
                case "task" if method == "tools/call":
                    return await self._follow(result, on_progress), True
                case kind:
                    raise Unreadable(f"The server answered {method} with a result of an unknown kind, {kind!r}.")
        raise Unreadable(f"The server answered {method} with questions {ROUNDS} times, and never with a result.")

    async def _follow(self, task: Mapping[str, Any], on_progress: OnProgress | None) -> Mapping[str, Any]:
        return await tasks.follow(task, self._requests.send, self._handle, self._subscriptions.following, on_progress)

    async def _answer(self, method: str, result: Mapping[str, Any], round: int) -> Params:
        needed = read_input_required(method, result)
        if not needed.requests:
            await anyio.sleep(min(FIRST_PAUSE * 2**round, LONGEST_PAUSE))
        return needed.answered(await answer_all(needed.requests, self._handle))

    async def _list_tools(self) -> None:
        self._cache.drop("tools/list")
        await read_all(self.page, "tools/list", self._listener.notice)

    async def _listen(self, params: Params, on_sending: OnSending) -> None:
        await self._requests.send("subscriptions/listen", params, on_sending=on_sending)

    def _hear(self, method: str, params: Params) -> Params | None:
        """Implements `agent.mcp.client.listener.Intercept`: hides what belongs to the subscriptions themselves."""
        if self._subscriptions.hear(method, params):
            return None
        self._cache.hear(method, params)
        return without_tag(params)

    def _tell(self, method: str, params: Params) -> None:
        self._listener.on_notification(Notification(method, params))
