"""What servers offer, as text for people. All text from servers is cleaned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agent.host.content import EMPTY, content_of, resource_of, text_of, to_json
from agent.ui.escapes import clean, clean_line

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.catalogue import Offered, ToolView
    from agent.host.host import Host
    from agent.host.server_view import ServerView


class Called(Protocol):
    """The result of `tools/call`."""

    @property
    def content(self) -> Sequence[Any]: ...

    @property
    def structured_content(self) -> Any: ...


class Read(Protocol):
    """The result of `resources/read`."""

    @property
    def contents(self) -> Sequence[Any]: ...


def servers_text(servers: Iterable[ServerView]) -> str:
    return "\n".join(_server(view) for view in servers) or "There are no servers."


def tools_text(tools: Iterable[ToolView]) -> str:
    return "\n\n".join(_tool(tool) for tool in tools) or "There are no tools."


def resources_text(
    resources: Iterable[Offered[types.Resource]], templates: Iterable[Offered[types.ResourceTemplate]]
) -> str:
    listed = [_named(one.server, str(one.item.uri), one.item.name, one.item.description) for one in resources]
    listed += [_named(one.server, one.item.uri_template, one.item.name, one.item.description) for one in templates]
    return "\n".join(listed) or "There are no resources."


def prompts_text(prompts: Iterable[Offered[types.Prompt]]) -> str:
    return "\n".join(_prompt(one.server, one.item) for one in prompts) or "There are no prompts."


def result_text(result: Called) -> str:
    """A tool's result in full: its content, else its structured content."""
    said = text_of(content_of(block) for block in result.content)
    if not said and result.structured_content is not None:
        said = to_json(result.structured_content)
    return clean(said or EMPTY)


def reading_text(reading: Read) -> str:
    return clean(text_of(resource_of(contents) for contents in reading.contents) or EMPTY)


def schema_of(host: Host, name: str) -> dict[str, Any]:
    """The input schema of the tool called `name`; empty if there is no such tool, which the call itself reports."""
    fits = (tool for tool in host.tools() if name in (tool.name, f"{tool.server}/{tool.name}", tool.shown_as))
    return next((tool.input_schema for tool in fits), {})


def _server(view: ServerView) -> str:
    facts = [clean_line(view.state), view.transport, clean_line(view.revision)]
    if view.sign_in:
        facts.append(view.sign_in)
    if view.latency is not None:
        facts.append(f"{view.latency * 1000:.0f} ms")
    if view.noise:
        facts.append(f"{view.noise} line{'s' * (view.noise != 1)} on stdout that are no messages")
    lines = [f"{clean_line(view.name)}: {', '.join(filter(None, facts))}"]
    if view.detail:
        lines += [f"  {line}" for line in clean(view.detail).splitlines()]
    return "\n".join(lines)


def _tool(tool: ToolView) -> str:
    title = f" - {clean_line(tool.title)}" if tool.title and tool.title != tool.name else ""
    lines = [f"{clean_line(tool.server)}/{clean_line(tool.name)}({_parameters(tool.input_schema)}){title}"]
    lines += [f"  {line}" for line in clean(tool.description or "").strip().splitlines()]
    return "\n".join(lines)


def _parameters(schema: dict[str, Any]) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ""
    needed = required if isinstance(required, list) else []
    return ", ".join(clean_line(name) if name in needed else f"[{clean_line(name)}]" for name in properties)


def _prompt(server: str, prompt: types.Prompt) -> str:
    arguments: Sequence[types.PromptArgument] = prompt.arguments or []
    shown = ", ".join(clean_line(one.name) if one.required else f"[{clean_line(one.name)}]" for one in arguments)
    return _named(server, f"{prompt.name}({shown})", prompt.title or "", prompt.description)


def _named(server: str, name: str, title: str, description: str | None) -> str:
    said = " - ".join(clean_line(text) for text in (title, description or "") if text)
    return f"{clean_line(server)}: {clean_line(name)}{'  ' + said if said else ''}"
