"""Answers requests from servers to the client (elicitation, sampling, roots), the same for every revision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio

from agent.chat.outbox import Outbox
from agent.host.browser import OpenPage, open_page
from agent.host.config.config import Config
from agent.host.elicitation import Elicitation
from agent.host.grants import Grants
from agent.host.roots import Roots
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from agent.chat.messages import Message
    from agent.chat.provider import Provider
    from agent.chat.toolbox import Toolbox
    from agent.host.host import Host
    from agent.host.sampling.sampling import Sampling

AnswerServer = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a request of one server: (method, params) to a result. Raises McpError to return an error."""

_OURS = ("progressToken", "mcp-chat/")
"""Prefixes of keys in a request's `_meta` that are not copied to the result."""


class Chat:
    """What server requests may use of the chat. Created before the servers start, and completed later by `begin`.

    `provider_for` opens PROVIDER/MODEL.
    """

    def __init__(self, provider_for: Callable[[str], Provider]) -> None:
        self.provider_for = provider_for
        self.begun = anyio.Event()

    def begin(self, host: Host, toolbox: Toolbox) -> None:
        self._host, self._toolbox = host, toolbox
        self.begun.set()

    def model(self) -> str:
        return self._host.model

    def turn(self) -> object:
        """A value that changes with each turn."""
        return self._host.occasion

    def messages(self) -> Sequence[Message]:
        return self._host.agent.conversation.messages

    def owner_of(self, name: str) -> str:
        """The server of a tool, by the name that the model sees; "" if there is no such tool."""
        tool = self._toolbox.find(name)
        return tool.server if tool else ""


class ClientFeatures:
    """`interactive`: a person reads the outbox and can be asked. `open_page` opens a page in their browser."""

    def __init__(
        self, config: Config, outbox: Outbox, chat: Chat, *, interactive: bool, open_page: OpenPage = open_page
    ) -> None:
        self._config, self._outbox, self._chat = config, outbox, chat
        self._interactive = interactive
        self.grants = Grants(config.data_folder / "grants.json", config.servers)
        self.roots = Roots(config, outbox, self.grants, interactive=interactive)
        self._elicitation = Elicitation(config, outbox, chat.turn, open_page, interactive=interactive)

    @cached_property
    def _sampling(self) -> Sampling:
        from agent.host.sampling.sampling import Sampling  # imported only after the servers have been started

        return Sampling(self._config, self._outbox, self._chat, self.grants, interactive=self._interactive)

    def capabilities(self, server: str) -> dict[str, Any]:
        """The client capabilities declared to `server`: only what a person or the configuration can answer."""
        declared: dict[str, Any] = {}
        approval = self._config.approval(server)
        if approval == "allow" or (self._interactive and approval != "deny"):
            declared["sampling"] = {"tools": {}} | ({"context": {}} if self._shares_context(server) else {})
        if modes := self._elicitation.capability(server):
            declared["elicitation"] = modes
        if self.roots.can_answer(server):
            declared["roots"] = {"listChanged": True} if self._interactive else {}
        return declared

    def answer(self, server: str) -> AnswerServer:
        """The request handler for `server`."""

        async def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            await self._chat.begun.wait()
            return _with_meta(await self._answer(server, method, params), params)

        return answer

    def hear(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """Handle a notification that concerns an earlier request of `server`."""
        if method == "notifications/elicitation/complete":
            self._elicitation.complete(server, params)

    async def _answer(self, server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        match method:
            case "sampling/createMessage":
                return await self._sampling.answer(server, params)
            case "elicitation/create":
                return await self._elicitation.answer(server, params)
            case "roots/list":
                return await self.roots.answer(server)
            case "ping":
                return {}
            case _:
                raise McpError(METHOD_NOT_FOUND, f"this client does not offer {method}")

    def _shares_context(self, server: str) -> bool:
        table = self._config.servers.get(server)
        return table is not None and table.context


def _with_meta(result: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the `_meta` of a request to its result: it says which task or conversation both belong to."""
    asked = params.get("_meta")
    kept = {key: value for key, value in asked.items() if not key.startswith(_OURS)} if isinstance(asked, dict) else {}
    return result | {"_meta": kept} if kept else result
