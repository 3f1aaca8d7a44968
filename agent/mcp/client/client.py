"""The client: typed calls, and answers to the requests that a server sends while one is in flight.

It hides the negotiated revision: methods that the server did not declare are not called, an invalid item in a list is
left out with a notice, and what is sent has the shape of that revision.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Protocol, Self, cast

from mcp_types import Completion, Implementation, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool

from agent.mcp import lifecycle, wire
from agent.mcp.background import background
from agent.mcp.callables import is_async, name_of
from agent.mcp.client.heartbeat import heartbeat
from agent.mcp.client.listener import Answer, Listener, OnNotice, OnNotification
from agent.mcp.client.opening import AUTO, Introduction, Verdicts, open_conversation
from agent.mcp.client.pages import read_all
from agent.mcp.client.tracing import TraceContext
from agent.mcp.envelope import Transport
from agent.mcp.jsonrpc import Params, has_json_numbers
from agent.mcp.lifecycle import Agreement, at_least
from agent.mcp.session import OnProgress
from agent.mcp.version import NAME, VERSION

Progress = Callable[[float, float | None, str], None]
"""Called with (done, total or None, message or "") while a call runs. It must not block."""

CLIENT_INFO = {"name": NAME, "version": VERSION}
ALL_CAPABILITIES: lifecycle.Capabilities = {"sampling": {}, "elicitation": {}, "roots": {}}


class Dialect(Protocol):
    """The calls, as implemented for one era of the protocol. Results are complete, and as received."""

    agreement: Agreement

    async def page(self, method: str, params: Params | None = None) -> Any: ...

    async def request(self, method: str, params: Params | None = None) -> Any: ...

    async def call_tool(self, params: Params, on_progress: OnProgress | None) -> Any: ...

    async def ping(self) -> None: ...

    async def set_logging_level(self, level: str) -> None: ...

    async def subscribe(self, uri: str) -> None: ...

    async def unsubscribe(self, uri: str) -> None: ...

    async def roots_changed(self) -> None: ...


class Client:
    """A connection to one server: `async with Client(stdio(["python3", "server.py"])) as client`.

    `answer(method, params)` handles requests of the server ("sampling/createMessage", "elicitation/create",
    "roots/list"): it returns the result as on the wire, or raises McpError to refuse. Calls may be concurrent; each is
    cancelled if the server cancels its request. Without `answer` nothing is declared. `capabilities` are those to
    declare, by default sampling, forms and roots, in the shape of the newest revision:
    `{"sampling": {"tools": {}}, "elicitation": {"form": {}}, "roots": {"listChanged": True}}`.

    `on_notification(method, params)` is called with each notification, `on_notice(text)` with a sentence for people
    about a server that violates the protocol, `on_deprecated(text)`, or else `on_notice` too, with one about a
    deprecated feature it uses. All are called from the reader: they are plain functions, and must not block.

    `protocol` is the revision to use, or "auto" to find one that the server supports; `verdicts` stores the revision
    found, for the next connection. `trace` returns the trace context for a request. A server of the handshake era is
    pinged every `ping_seconds`, or never with 0; a ping without a response is a notice.

    Entering connects and agrees on a revision; leaving is bounded in time, whatever the server does. It may be entered
    again after that, for another connection.

    Raises:
        ValueError: there is no such `protocol`.
        TypeError: a function that is called from the reader is an `async def`, and would not be awaited.

    Raises, on entering it:
        RuntimeError: it is connected already.
        ConnectionLost: no connection, or (HandshakeFailed) no common revision.
        McpError: the server refused the handshake.
        Unreadable: its first response could not be parsed.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        answer: Answer | None = None,
        capabilities: lifecycle.Capabilities | None = None,
        on_notification: OnNotification | None = None,
        on_notice: OnNotice | None = None,
        on_deprecated: OnNotice | None = None,
        client_info: Mapping[str, Any] | None = None,
        protocol: str = AUTO,
        verdicts: Verdicts | None = None,
        trace: TraceContext | None = None,
        ping_seconds: float = 300.0,
    ) -> None:
        if protocol not in (AUTO, *lifecycle.REVISIONS):
            raise ValueError(f"protocol must be 'auto' or one of {', '.join(lifecycle.REVISIONS)}, not {protocol!r}")
        for callback in (on_notification, on_notice, on_deprecated):
            _check_plain(callback)
        declared = (ALL_CAPABILITIES if capabilities is None else capabilities) if answer else {}
        self._transport, self._trace, self._ping_seconds = transport, trace, ping_seconds
        self._introduction = Introduction(client_info or CLIENT_INFO, protocol, verdicts)
        self._listener = Listener(declared, answer, on_notification, on_notice, on_deprecated)
        self._dialect: Dialect
        self._running: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Self:
        if self._running:
            raise RuntimeError("This client is connected already; make another Client for another connection.")
        self._running = self._run()
        try:
            await self._running.__aenter__()
        except BaseException:
            self._running = None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        assert self._running, "it was entered"
        try:
            return await self._running.__aexit__(kind, error, traceback)
        finally:
            self._running = None

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        self._listener.intercept = None
        opened = open_conversation(self._transport, self._listener, self._introduction)
        async with opened as (opening, agreement), background() as tasks:
            if agreement.revision in lifecycle.STATELESS_REVISIONS:
                from agent.mcp.client.stateless import StatelessClient

                self._dialect = StatelessClient(opening, agreement, tasks, self._trace)
            else:
                from agent.mcp.client.handshake import HandshakeClient

                self._dialect = HandshakeClient(opening, agreement, self._trace)
                if self._ping_seconds:
                    tasks.start_soon(heartbeat, self._dialect.ping, self._ping_seconds, self._listener.notice)
            yield

    # What was negotiated.

    @property
    def revision(self) -> str:
        """The negotiated protocol revision, such as "2025-11-25"."""
        return self._dialect.agreement.revision

    @property
    def server_info(self) -> Implementation:
        """The server's `serverInfo`. Not verified; for display only."""
        return wire.read_server_info(self._dialect.agreement.server)

    @property
    def capabilities(self) -> ServerCapabilities:
        """The capabilities that the server declared."""
        return wire.read_capabilities(self._dialect.agreement.capabilities)

    @property
    def instructions(self) -> str | None:
        """The server's instructions, for the model's system prompt."""
        return self._dialect.agreement.instructions

    # Calls. Each raises McpError if the server responds with an error, Unreadable if the response cannot be parsed,
    # ConnectionLost, and, except for lists, NotOffered if the server did not declare the capability.

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
        """Run a tool (section "Tools, calling"). A failure of the tool is a result. Cancelling the caller cancels it.

        A lone surrogate in the arguments, which is not valid Unicode, is sent as "?".

        Raises:
            ValueError: the arguments are nested too deeply, or contain NaN or an infinite number, which JSON lacks.
            TypeError: `progress` is an `async def`, and would not be awaited.
        """
        _check_plain(progress)
        params = {"name": name, "arguments": dict(arguments or {})}
        _check_json(name, params)
        on_progress = _reading(progress) if progress else None
        return wire.read_tool_result(await self._dialect.call_tool(params, on_progress))

    async def read_resource(self, uri: str) -> wire.ReadResult:
        """Section "Resources, reading"."""
        return wire.read_resource_result(
            await self._dialect.request("resources/read", {"uri": uri}), self._listener.notice
        )

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> wire.PromptResult:
        """A prompt with its arguments filled in (section "Prompts, getting")."""
        params = {"name": name} | ({"arguments": dict(arguments)} if arguments else {})
        return wire.read_prompt_result(await self._dialect.request("prompts/get", params), self._listener.notice)

    async def complete(
        self, ref: Mapping[str, str], argument: str, value: str, resolved: Mapping[str, str] | None = None
    ) -> Completion:
        """Suggestions for an argument (section "Completion"): `ref` is `{"type": "ref/prompt", "name": …}` or
        `{"type": "ref/resource", "uri": …}`, `value` what is typed so far, `resolved` the arguments already chosen.
        """
        params: Params = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        if resolved and at_least(self.revision, "2025-06-18"):
            params["context"] = {"arguments": dict(resolved)}
        return wire.read_completion(await self._dialect.request("completion/complete", params))

    async def ping(self) -> None:
        """Check that the server responds (section "Ping")."""
        await self._dialect.ping()

    async def set_logging_level(self, level: str) -> None:
        """The least severe log message wanted: debug, info, notice, warning, error, … (section "Logging")."""
        await self._dialect.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        """Subscribe to "notifications/resources/updated" of a resource (section "Resources, subscriptions").

        After the connection was lost, a notification may mean only that updates may have been missed.
        """
        await self._dialect.subscribe(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self._dialect.unsubscribe(uri)

    async def roots_changed(self) -> None:
        """Notify the server that the roots have changed, if `listChanged` was declared (section "Roots")."""
        await self._dialect.roots_changed()

    async def _list(self, method: str) -> list[Any]:
        if not lifecycle.offers(self._dialect.agreement, method):
            return []
        return await read_all(self._dialect.page, method, self._listener.notice)


def _check_plain(callback: Callable[..., Any] | None) -> None:
    if callback and is_async(callback):
        raise TypeError(f"{name_of(callback)} is an async function, which nobody would await; give a plain one.")


def _check_json(name: str, params: Params) -> None:
    """Raises ValueError for what JSON cannot represent, so that no changed value is sent."""
    try:
        if not has_json_numbers(params):
            raise ValueError(f"The arguments for {name} hold NaN or an infinite number, which JSON has not.")
    except RecursionError:
        raise ValueError(f"The arguments for {name} are nested too deeply for JSON.") from None


def _reading(progress: Progress) -> OnProgress:
    """A handler of the params of "notifications/progress", which may be malformed, that calls `progress`."""

    def on_progress(params: Params) -> None:
        done, total, message = params.get("progress"), params.get("total"), params.get("message")
        if isinstance(done, int | float):
            total = total if isinstance(total, int | float) else None
            progress(done, total, message if isinstance(message, str) else "")

    return on_progress
