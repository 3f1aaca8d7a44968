"""What an argument of a prompt or of a resource template may become, as its server suggests."""

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

KEPT = 256  # answers
FRESH = 30.0  # seconds for which one of them is as good as another
PATIENCE = 3.0  # seconds for a server to answer

Question = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


class Suggestions:
    """Asks servers that are there, and only if they declared that they can suggest; else there is nothing."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: OrderedDict[Question, tuple[float, tuple[str, ...]]] = OrderedDict()

    async def for_prompt(
        self, prompt: Offered[types.Prompt], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """`value` is what is typed so far, `known` the arguments that are settled."""
        return await self._suggest(
            prompt.server, {"type": "ref/prompt", "name": prompt.item.name}, argument, value, known
        )

    async def for_template(
        self, template: Offered[types.ResourceTemplate], argument: str, value: str, known: Mapping[str, str]
    ) -> tuple[str, ...]:
        """As `for_prompt`, for a variable of the template."""
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
        if connection.state != "ready":  # nobody who types wants to start a server
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
