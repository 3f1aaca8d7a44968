"""What a server offers: the lists of its declared capabilities, fetched and kept up to date."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.mcp.errors import McpError, Unreadable

if TYPE_CHECKING:
    import mcp_types as types

    from agent.mcp.client.client import Client


@dataclass(frozen=True, slots=True)
class Offers:
    tools: tuple[types.Tool, ...] = ()
    resources: tuple[types.Resource, ...] = ()
    templates: tuple[types.ResourceTemplate, ...] = ()
    prompts: tuple[types.Prompt, ...] = ()

    def __str__(self) -> str:
        counts = {"tool": len(self.tools), "resource": len(self.resources), "prompt": len(self.prompts)}
        named = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count]
        return ", ".join(named) or "nothing"


Fetch = Callable[["Client"], Awaitable[Sequence[Any]]]

FETCH: dict[str, Fetch] = {
    "tools": lambda client: client.list_tools(),
    "resources": lambda client: client.list_resources(),
    "templates": lambda client: client.list_resource_templates(),
    "prompts": lambda client: client.list_prompts(),
}

CHANGES = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/resources/list_changed": ("resources", "templates"),
    "notifications/prompts/list_changed": ("prompts",),
}
"""The lists that each notification makes stale."""


async def fetch(client: Client, kind: str, before: Offers, on_notice: Callable[[str], None]) -> Offers:
    """`before` with one list fetched again, if the capability is declared. If that fails, it is empty, with a notice.

    Raises:
        ConnectionLost: the connection was lost.
    """
    try:
        found = tuple(await FETCH[kind](client))
    except (McpError, Unreadable) as error:
        on_notice(f"The list of its {kind} could not be read: {error}")
        found = ()
    return replace(before, **{kind: found})
