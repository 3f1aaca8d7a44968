"""The client in the handshake era: a session, which is replaced if the server lost it, and calls that run as tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from agent.mcp import lifecycle
from agent.mcp.client import core_tasks
from agent.mcp.client.input_requests import InputRefused, answer_all
from agent.mcp.client.opening import Opening
from agent.mcp.client.pages import read_all
from agent.mcp.client.tracing import TraceContext, passed_on
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, Notification, Params, Request
from agent.mcp.lifecycle import NotOffered
from agent.mcp.protocol import URL_ELICITATION_REQUIRED
from agent.mcp.session import OnProgress, OnSending


class HandshakeClient:
    """Implements `agent.mcp.client.client.Dialect`."""

    def __init__(self, opening: Opening, agreement: lifecycle.Agreement, trace: TraceContext | None) -> None:
        self.agreement, self._opening, self._trace = agreement, opening, trace
        self._session, self._listener = opening.session, opening.listener
        self._beginning = anyio.Lock()
        self._subscribed: set[str] = set()
        self._level: str | None = None
        self._only_as_tasks: set[str] = set()
        self._late_progress = core_tasks.LateProgress()
        self._listener.intercept = self._late_progress.hear

    async def page(self, method: str, params: Params | None = None) -> Any:
        result = await self.request(method, params)
        if method == "tools/list":
            self._only_as_tasks |= core_tasks.required(result, self.agreement)
        return result

    async def request(
        self,
        method: str,
        params: Params | None = None,
        on_progress: OnProgress | None = None,
        on_sending: OnSending | None = None,
    ) -> Any:
        if not lifecycle.offers(self.agreement, method):
            raise NotOffered(f"The server does not offer {method}.")
        if self._trace and (context := passed_on(self._trace())):
            params = {**(params or {}), "_meta": context}
        agreement = self.agreement
        try:
            return await self._session.request(method, params, on_progress=on_progress, on_sending=on_sending)
        except ConnectionLost as error:
            if not await self._began_anew(error, agreement):
                raise
        except McpError as error:
            if error.code != URL_ELICITATION_REQUIRED or not await self._visited(error.data):
                raise
        return await self._session.request(method, params, on_progress=on_progress, on_sending=on_sending)

    async def call_tool(self, params: Params, on_progress: OnProgress | None) -> Any:
        if params["name"] not in self._only_as_tasks:
            try:
                return await self.request("tools/call", params, on_progress)
            except McpError as error:
                if not await self._wants_a_task(params["name"], error):
                    raise
        return await core_tasks.run(params, self.request, on_progress, self._late_progress)

    async def ping(self) -> None:
        await self.request("ping")

    async def set_logging_level(self, level: str) -> None:
        await self.request("logging/setLevel", {"level": level})
        self._level = level

    async def subscribe(self, uri: str) -> None:
        await self.request("resources/subscribe", {"uri": uri})
        self._subscribed.add(uri)

    async def unsubscribe(self, uri: str) -> None:
        self._subscribed.discard(uri)
        await self.request("resources/unsubscribe", {"uri": uri})

    async def roots_changed(self) -> None:
        if lifecycle.declares(self._listener.declared, "roots", "listChanged"):
            await self._session.notify("notifications/roots/list_changed")

    async def _began_anew(self, error: ConnectionLost, agreement: lifecycle.Agreement) -> bool:
        """Whether the server lost the session, and there is a new one now (section "Session Management").

        `agreement` is that of the request that failed: the first one to fail begins a new session for all of them.
        """
        from agent.mcp.exchange import SessionLost

        if not isinstance(error, SessionLost):
            return False
        async with self._beginning:
            if self.agreement is agreement:
                try:
                    self.agreement = await self._opening.shake_hands()
                except (McpError, Unreadable) as refusal:
                    raise ConnectionLost(f"{error} It did not begin another: {refusal}") from error
                await self._restore()
        return True

    async def _restore(self) -> None:
        """Restore the log level and subscriptions in the new session. Every list may have changed."""
        if self._level:
            await self._repeat("logging/setLevel", {"level": self._level}, "its log messages may be others")
        for uri in sorted(self._subscribed):
            if not await self._repeat("resources/subscribe", {"uri": uri}, f"it no longer tells of changes to {uri}"):
                self._subscribed.discard(uri)
        for name in ("tools", "resources", "prompts"):
            if lifecycle.declares(self.agreement.capabilities, name):
                self._listener.on_notification(Notification(f"notifications/{name}/list_changed", {}))

    async def _repeat(self, method: str, params: Params, loss: str) -> bool:
        """Repeat a request in the new session. False if it failed: a notice, not an error of the call in progress."""
        from agent.mcp.exchange import SessionLost

        try:
            await self._session.request(method, params)
        except SessionLost:
            pass  # the caller's retry fails too, and the next session is restored to the same state
        except (McpError, Unreadable, ConnectionLost) as error:
            self._listener.notice(f"The server began a new session, in which {loss}: {error}")
            return False
        return True

    async def _visited(self, data: Any) -> bool:
        """Whether the error requires URL elicitations, and the person accepted all of them."""
        pages = data.get("elicitations") if isinstance(data, dict) else None
        if self.agreement.revision != "2025-11-25" or not isinstance(pages, list) or not pages:
            return False
        if not all(isinstance(page, dict) for page in pages):
            return False
        more = {"mode": "url", "_meta": {lifecycle.BEFORE_RETRY: True}}
        asked = {
            str(number): Request(number, "elicitation/create", {**page, **more}) for number, page in enumerate(pages)
        }
        try:
            answers = await answer_all(asked, self._session.handle)
        except InputRefused:
            return False
        return all(isinstance(answer, Mapping) and answer.get("action") == "accept" for answer in answers.values())

    async def _wants_a_task(self, name: str, error: McpError) -> bool:
        """Whether the error means that the tool runs only as a task, which `tools/list` shows."""
        if error.code not in (METHOD_NOT_FOUND, INVALID_REQUEST) or not core_tasks.runs_tools(self.agreement):
            return False
        await read_all(self.page, "tools/list", self._listener.notice)
        return name in self._only_as_tasks
