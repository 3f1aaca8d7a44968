"""The registered tools, resources, prompts and completions of a server, and their paged lists."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, Protocol

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS
from agent.mcp.lifecycle import at_least
from agent.mcp.protocol import TASKS_EXTENSION
from agent.mcp.server.features import Completion, Prompt, Resource, Tool
from agent.mcp.server.signature import Json, SignatureError

Kind = Literal["tools", "resources", "prompts", "completions"]


class Listed(Protocol):
    def definition(self, revision: str) -> Json: ...


class Catalogue:
    """What is registered; it may change while clients are connected. A list is sent in pages of `page_size` entries.

    `promised` are the capabilities that are declared even while nothing of their kind is registered.
    """

    def __init__(self, page_size: int, promised: Collection[Kind] = ()) -> None:
        self._page_size, self._promised = page_size, frozenset(promised)
        self.tools: dict[str, Tool] = {}
        self.resources: dict[str, Resource] = {}
        self.templates: dict[str, Resource] = {}
        self.prompts: dict[str, Prompt] = {}
        self.completions: dict[tuple[str, str], Completion] = {}

    def prepare(self) -> None:
        """Validate every registration. Raises SignatureError."""
        listed = (self.tools, self.resources, self.templates, self.prompts, self.completions)
        everything: Iterable[Tool | Resource | Prompt | Completion] = chain(*(kind.values() for kind in listed))
        for feature in everything:
            feature.prepare()
        for of, argument in self.completions:
            if argument not in self._arguments(of):
                raise SignatureError(f"{argument!r} of {of!r} is no argument of a prompt or a resource template here.")

    def forget_completions(self, of: str) -> None:
        """Remove the completions of a prompt or a resource template."""
        self.completions = {key: value for key, value in self.completions.items() if key[0] != of}

    def _arguments(self, of: str) -> Sequence[str]:
        if of in self.prompts:
            return self.prompts[of].signature.names
        template = self.templates[of].template if of in self.templates else None
        return template.names if template else ()

    def has(self, kind: str) -> bool:
        """Whether something of a kind is registered, or promised."""
        match kind:
            case "tools":
                there = bool(self.tools)
            case "resources":
                there = bool(self.resources or self.templates)
            case "prompts":
                there = bool(self.prompts)
            case _:
                there = bool(self.completions)
        return there or kind in self._promised

    def capabilities(self, revision: str) -> Json:
        """The capabilities to declare to a client of `revision`."""
        declared: Json = {"logging": {}}
        if self.has("tools"):
            declared["tools"] = {"listChanged": True}
        if self.has("resources"):
            declared["resources"] = {"subscribe": True, "listChanged": True}
        if self.has("prompts"):
            declared["prompts"] = {"listChanged": True}
        if self.has("completions") and at_least(revision, "2025-03-26"):
            declared["completions"] = {}
        if at_least(revision, "2026-07-28") and any(tool.task for tool in self.tools.values()):
            declared["extensions"] = {TASKS_EXTENSION: {}}
        return declared

    def listed_tools(self, revision: str) -> list[Tool]:
        """The tools that can be called in `revision`."""
        knows_tasks = at_least(revision, "2026-07-28")
        return [tool for tool in self.tools.values() if knows_tasks or tool.task != "required"]

    def find_resource(self, uri: str) -> tuple[Resource, Mapping[str, str]] | None:
        """The resource that serves a URI, and its arguments; an exact URI takes precedence over templates."""
        for resource in chain(self.resources.values(), self.templates.values()):
            if (arguments := resource.match(uri)) is not None:
                return resource, arguments
        return None

    def page(self, kind: str, entries: Sequence[Listed], cursor: object, revision: str) -> Json:
        """One page of a list, under the key `kind` (section "Utilities, Pagination").

        Raises:
            McpError: the cursor is invalid.
        """
        start = 0 if cursor is None else _position(kind, cursor)
        if start and start >= len(entries):
            raise McpError(INVALID_PARAMS, "Unknown cursor: the list has no such page.")
        end = start + self._page_size
        shown = [entry.definition(revision) for entry in entries[start:end]]
        return {kind: shown} | ({"nextCursor": _cursor(kind, end)} if end < len(entries) else {})


def _cursor(kind: str, position: int) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{position}".encode()).decode("ascii")


def _position(kind: str, cursor: object) -> int:
    try:
        written = base64.b64decode(str(cursor), altchars="-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        written = ""
    named, _, position = written.partition(":")
    if named != kind or not position.isdecimal() or position == "0":
        raise McpError(INVALID_PARAMS, "Unknown cursor: it comes from another list.")
    return int(position)
