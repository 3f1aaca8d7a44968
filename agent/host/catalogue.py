"""What all servers offer, and lookup by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from agent.host.approvals import Definition, define
from agent.host.config.errors import nearest
from agent.host.errors import HostError
from agent.host.tool_names import shown_name

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.servers import Servers

T = TypeVar("T", bound="types.Tool | types.Resource | types.ResourceTemplate | types.Prompt")


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool for people and scripts. `shown_as` is the name the model sees; the schemas are the server's own."""

    server: str
    name: str
    shown_as: str
    title: str | None
    description: str | None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        """A JSON object with every key, in the protocol's spelling."""
        return {
            "server": self.server,
            "name": self.name,
            "shown_as": self.shown_as,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
        }


@dataclass(frozen=True, slots=True)
class Offered(Generic[T]):
    """A resource, a resource template or a prompt, and the name of its server."""

    server: str
    item: T

    def as_json(self) -> dict[str, Any]:
        return {"server": self.server, **self.item.model_dump(mode="json", by_alias=True, exclude_none=True)}


class _Belonging(Protocol):
    @property
    def server(self) -> str: ...


Found = TypeVar("Found", bound=_Belonging)


class Catalogue:
    """The current offers of all servers. Each list may be limited to one server.

    Every method raises ServerUnavailable if `server` does not exist.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def tools(self, server: str | None = None) -> list[ToolView]:
        return [_view(name, tool) for name, offers in self._offers(server) for tool in offers.tools]

    def resources(self, server: str | None = None) -> list[Offered[types.Resource]]:
        return [Offered(name, item) for name, offers in self._offers(server) for item in offers.resources]

    def templates(self, server: str | None = None) -> list[Offered[types.ResourceTemplate]]:
        return [Offered(name, item) for name, offers in self._offers(server) for item in offers.templates]

    def prompts(self, server: str | None = None) -> list[Offered[types.Prompt]]:
        return [Offered(name, item) for name, offers in self._offers(server) for item in offers.prompts]

    def find_tool(self, name: str, server: str | None = None) -> ToolView:
        """A tool by its own name, by SERVER/NAME, or by the name the model sees.

        Raises:
            HostError: there is none, or several servers have one; the text names the candidates.
        """
        tools = self.tools(server)
        shown = [tool for tool in tools if tool.shown_as == name]
        return shown[0] if shown else _one("tool", tools, name, server, lambda tool: tool.name)

    def find_prompt(self, name: str, server: str | None = None) -> Offered[types.Prompt]:
        """A prompt by its own name or by SERVER/NAME.

        Raises:
            HostError: there is none, or several servers have one; the text names the candidates.
        """
        return _one("prompt", self.prompts(server), name, server, lambda prompt: prompt.item.name)

    def server_of(self, uri: str, server: str | None = None) -> str:
        """The server of a resource: the only one that `owners_of` finds, else the only one that has resources.

        Raises:
            HostError: there is no such server, or several.
        """
        if server is not None:
            return server
        having = {offered.server for offered in self.resources()} | {offered.server for offered in self.templates()}
        candidates = self.owners_of(uri) or sorted(having)
        if len(candidates) == 1:
            return candidates[0]
        if not candidates:
            raise HostError(f"{uri} cannot be read: no connected server has resources.")
        raise HostError(f"Several servers may have {uri}: say which of {', '.join(candidates)}.")

    def owners_of(self, uri: str) -> list[str]:
        """The servers that list this resource, else those with a matching template."""
        listing = [offered.server for offered in self.resources() if str(offered.item.uri) == uri]
        fitting = [offered.server for offered in self.templates() if _fits(offered.item.uri_template, uri)]
        return sorted(set(listing or fitting))

    def definition(self, server: str, tool: str) -> Definition | None:
        """What an approval of a server's tool applies to; None if there is no such tool."""
        connection = self._servers.connections.get(server)
        offered = connection.offers.tools if connection else ()
        return next((define(one) for one in offered if one.name == tool), None)

    def _offers(self, server: str | None) -> Iterable[tuple[str, Any]]:
        if server is not None:
            return [(server, self._servers[server].offers)]
        return [(name, connection.offers) for name, connection in self._servers.connections.items()]


def _view(server: str, tool: types.Tool) -> ToolView:
    annotations = (
        tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True) if tool.annotations else None
    )
    return ToolView(
        server,
        tool.name,
        shown_name(server, tool.name),
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        annotations,
    )


def _fits(template: str, uri: str) -> bool:
    from agent.mcp.uri_templates import TemplateError, parse_template

    try:
        return parse_template(template).match(uri) is not None
    except TemplateError:
        return False


def _one(noun: str, found: Sequence[Found], name: str, server: str | None, name_of: Callable[[Found], str]) -> Found:
    matches: list[Found] = [item for item in found if name == name_of(item)]
    if not matches and server is None:  # a name may contain a slash, so the whole text is tried first
        matches = [item for item in found if name == f"{item.server}/{name_of(item)}"]
    if len(matches) == 1:
        return matches[0]
    if matches:
        candidates = " or ".join(f"{item.server}/{name_of(item)}" for item in matches)
        raise HostError(f"Several servers have a {noun} {name!r}: say {candidates}.")
    where = f" on {server}" if server else ""
    hint = nearest(name, {name_of(item) for item in found}) or f" No connected server has any {noun}s."
    raise HostError(f"There is no {noun} named {name!r}{where}.{hint}")
