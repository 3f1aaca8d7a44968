"""The client's end of a session: typed calls, and answers to what the server asks in the middle of them.

Nothing above knows which revision is spoken: a method that the server did not declare is not called, a bad item in a
list is left out with a notice, and what is sent has the shape of the revision agreed on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

from mcp_types import Completion, Implementation, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool

from agent import __version__
from agent.mcp import lifecycle, wire
from agent.mcp.envelope import Transport
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Params
from agent.mcp.lifecycle import Agreement, NotOffered, at_least
from agent.mcp.listener import Answer, Listener, OnNotice, OnNotification
from agent.mcp.session import McpError, OnProgress, Session, open_session

Progress = Callable[[float, float | None, str], None]
"""Called with (done, total or None, message or "") while a call runs. It must not block."""

PAGES = 1_000  # of one list that are asked for
CLIENT_INFO = {"name": "mcp-chat", "version": __version__}
ALL_CAPABILITIES: lifecycle.Capabilities = {"sampling": {}, "elicitation": {}, "roots": {}}


class Client:
    """A connection to one server: `async with Client(stdio(["python3", "server.py"])) as client`.

    `answer(method, params)` serves what the server asks: "sampling/createMessage", "elicitation/create", "roots/list".
    It gives the result as on the wire, or raises McpError to refuse; several may run at once, and one that the server
    withdraws is cancelled. Without it nothing is declared. `capabilities` says what it can serve, in the shape of the
    newest revision: `{"sampling": {"tools": {}}, "elicitation": {"form": {}}, "roots": {"listChanged": True}}`; the
    default is sampling, forms and roots.

    `on_notification(method, params)` hears what the server tells, `on_notice(text)` what a person may want to know
    about a server that does not keep the rules. Both are called from the reader and must not block.

    Entering connects and shakes hands; leaving is bounded in time, whatever the server does.

    Raises, on entering it:
        ConnectionLost: no connection, or (HandshakeFailed) no common revision.
        McpError: the server refused to begin.
        Unreadable: its first answer was none.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        answer: Answer | None = None,
        capabilities: lifecycle.Capabilities | None = None,
        on_notification: OnNotification | None = None,
        on_notice: OnNotice | None = None,
        client_info: Mapping[str, Any] | None = None,
    ) -> None:
        declared = (ALL_CAPABILITIES if capabilities is None else capabilities) if answer else {}
        self._transport, self._client_info = transport, client_info or CLIENT_INFO
        self._listener = Listener(declared, answer, on_notification, on_notice)
        self._agreement = Agreement("")

    async def __aenter__(self) -> Self:
        self._running = self._run()
        await self._running.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._running.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        async with self._transport as channel, open_session(channel, self._listener) as session:
            self._session = session
            self._agreement = await self._shake_hands(session)
            yield

    # What the handshake settled.

    @property
    def revision(self) -> str:
        """The revision of the protocol that is spoken, such as "2025-11-25"."""
        return self._agreement.revision

    @property
    def server_info(self) -> Implementation:
        """Who the server says it is: for display, not for decisions."""
        return wire.read_server_info(self._agreement.server)

    @property
    def capabilities(self) -> ServerCapabilities:
        """What the server declared."""
        return wire.read_capabilities(self._agreement.capabilities)

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used, for the model's system prompt."""
        return self._agreement.instructions

    # Calls. Each raises McpError if the server answers with an error, Unreadable if its answer is none, ConnectionLost
    # if the server is gone, and, except for lists, NotOffered if the server did not declare what it takes.

    async def list_tools(self) -> list[Tool]:
        """All pages; empty if the server has none (section "Tools")."""
        return cast("list[Tool]", await self._list("tools/list"))

    async def list_resources(self) -> list[Resource]:
        """All pages; empty if the server has none (section "Resources")."""
        return cast("list[Resource]", await self._list("resources/list"))

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """All pages; empty if the server has none (section "Resources, templates")."""
        return cast("list[ResourceTemplate]", await self._list("resources/templates/list"))

    async def list_prompts(self) -> list[Prompt]:
        """All pages; empty if the server has none (section "Prompts")."""
        return cast("list[Prompt]", await self._list("prompts/list"))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, progress: Progress | None = None
    ) -> wire.ToolResult:
        """Run a tool (section "Tools, calling"). That the tool failed is a result; cancelling the caller stops it."""
        params = {"name": name, "arguments": dict(arguments or {})}
        on_progress = _reading(progress) if progress else None
        return wire.read_tool_result(await self._request("tools/call", params, on_progress))

    async def read_resource(self, uri: str) -> wire.ReadResult:
        """Section "Resources, reading"."""
        return wire.read_resource_result(await self._request("resources/read", {"uri": uri}), self._listener.notice)

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> wire.PromptResult:
        """A prompt with its arguments filled in (section "Prompts, getting")."""
        params = {"name": name} | ({"arguments": dict(arguments)} if arguments else {})
        return wire.read_prompt_result(await self._request("prompts/get", params), self._listener.notice)

    async def complete(
        self, ref: Mapping[str, str], argument: str, value: str, resolved: Mapping[str, str] | None = None
    ) -> Completion:
        """Suggestions for an argument (section "Completion"): `ref` is `{"type": "ref/prompt", "name": …}` or
        `{"type": "ref/resource", "uri": …}`, `value` what is typed so far, `resolved` the arguments already chosen.
        """
        params: Params = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        if resolved and at_least(self.revision, "2025-06-18"):
            params["context"] = {"arguments": dict(resolved)}
        return wire.read_completion(await self._request("completion/complete", params))

    async def ping(self) -> None:
        """Ask for a sign of life (section "Ping")."""
        await self._request("ping")

    async def set_logging_level(self, level: str) -> None:
        """The least severe log message wanted: debug, info, notice, warning, error, … (section "Logging")."""
        await self._request("logging/setLevel", {"level": level})

    async def subscribe(self, uri: str) -> None:
        """Ask to be told of changes by "notifications/resources/updated" (section "Resources, subscriptions")."""
        await self._request("resources/subscribe", {"uri": uri})

    async def unsubscribe(self, uri: str) -> None:
        await self._request("resources/unsubscribe", {"uri": uri})

    async def roots_changed(self) -> None:
        """Tell the server that its roots are others now, if that was declared (section "Roots")."""
        if lifecycle.declares(self._listener.declared, "roots", "listChanged"):
            await self._session.notify("notifications/roots/list_changed")

    async def _shake_hands(self, session: Session) -> Agreement:
        offered = [lifecycle.NEWEST_HANDSHAKE]
        while True:
            self._listener.revision = offered[-1]
            params = lifecycle.offer(offered[-1], self._listener.declared, self._client_info)
            try:
                agreement = lifecycle.accept(await session.request("initialize", params))
            except McpError as error:
                another = lifecycle.next_offer(error.message, error.data, offered)
                if another is None:
                    raise (lifecycle.refused(error.message, offered) if len(offered) > 1 else error) from error
                offered.append(another)
            else:
                self._listener.revision = agreement.revision
                await session.notify("notifications/initialized")
                return agreement

    async def _request(self, method: str, params: Params | None = None, on_progress: OnProgress | None = None) -> Any:
        if not lifecycle.offers(self._agreement, method):
            raise NotOffered(f"The server does not offer {method}.")
        return await self._session.request(method, params, on_progress=on_progress)

    async def _list(self, method: str) -> list[Any]:
        """Every item once, in the server's order: follows cursors until there is none, or one comes back."""
        key = wire.LISTINGS[method].key
        found: dict[str, Any] = {}
        cursor: str | None = None
        asked: set[str | None] = set()
        while cursor not in asked and len(asked) < PAGES:
            asked.add(cursor)
            page = await self._page(method, cursor)
            for item in page.items:
                found.setdefault(getattr(item, key), item)
            cursor = page.cursor
            if cursor is None:
                return list(found.values())
        self._listener.notice(f"The pages of {method} come to no end; {len(asked)} were read.")
        return list(found.values())

    async def _page(self, method: str, cursor: str | None) -> wire.Page:
        if not lifecycle.offers(self._agreement, method):
            return wire.Page([], None)
        try:
            result = await self._request(method, None if cursor is None else {"cursor": cursor})
        except McpError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            self._listener.notice(f"The server declared more than it has: it does not know {method}.")
            return wire.Page([], None)
        return wire.read_page(method, result, self._listener.notice)


def _reading(progress: Progress) -> OnProgress:
    """From the params of "notifications/progress", which may hold anything, to a call."""

    def on_progress(params: Params) -> None:
        done, total, message = params.get("progress"), params.get("total"), params.get("message")
        if isinstance(done, int | float):
            total = total if isinstance(total, int | float) else None
            progress(done, total, message if isinstance(message, str) else "")

    return on_progress
