"""Completions for arguments of prompts and resource templates, requested from the server."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from agent.host.errors import ServerUnavailable
from agent.host.servers import Servers
from agent.mcp.errors import McpError

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.catalogue import Offered

KEPT = 256  # cached responses
FRESH = 30.0  # seconds for which a cached response is used
PATIENCE = 3.0  # seconds to wait for a response

Question = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


class Suggestions:
    """Asks connected servers that declare the `completions` capability; for others there are no suggestions."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: OrderedDict[Question, tuple[float, tuple[str, ...]]] = OrderedDict()

    async def for_prompt(
        self, prompt: Offered[types.Prompt], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """`value` is the text typed so far, `known` the other arguments."""
        return await self._suggest(
            prompt.server, {"type": "ref/prompt", "name": prompt.item.name}, argument, value, known
        )

    async def for_template(
        self, template: Offered[types.ResourceTemplate], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """As `for_prompt`, for a variable of a resource template."""
        ref = {"type": "ref/resource", "uri": template.item.uri_template}
        return await self._suggest(template.server, ref, argument, value, known)

    async def _suggest(
        self, server: str, ref: Mapping[str, str], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        question = (server, "\0".join(ref.values()), argument, value, tuple(sorted(known.items())))
        asked, values = self._known.get(question, (-FRESH, ()))
        if anyio.current_time() - asked < FRESH:
            return values
        values = await self._ask(server, ref, argument, value, known)
        self._known[question] = (anyio.current_time(), values)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return values

    async def _ask(
        self, server: str, ref: Mapping[str, str], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        connection = self._servers[server]
        if connection.state != "ready":  # typing an argument must not start a server
            return ()
        with anyio.move_on_after(PATIENCE):
            try:
                found = await connection.request(
                    "a suggestion", lambda client: client.complete(ref, argument, value, known)
                )
            except (McpError, ServerUnavailable):
                return ()
            return tuple(found.values)
        return ()
