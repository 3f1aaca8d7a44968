"""Tools that the person has allowed for good: as they were then, on the server as it was configured then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.host.config.models import ServerTable
from agent.host.remembered import Memory, identity

if TYPE_CHECKING:
    import mcp_types as types

SHOWN = 300  # characters of what changed
KEPT_BEFORE = 20  # characters that show where


@dataclass(frozen=True, slots=True)
class Definition:
    """What an approval is given for: all that the model is told of a tool."""

    tool: str
    description: str
    schema: dict[str, Any] = field(hash=False)

    @property
    def digest(self) -> str:
        canonical = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def define(tool: types.Tool) -> Definition:
    """A tool as the model is told of it."""
    return Definition(tool.name, tool.description or tool.title or "", tool.input_schema)


class Approvals:
    """They are asked for at every call, so they are kept in memory until the file changes."""

    def __init__(self, path: Path, servers: Mapping[str, ServerTable]) -> None:
        self._memory, self._servers = Memory(path), servers

    def holds(self, server: str, definition: Definition) -> bool:
        """Whether this very definition was allowed."""
        before = self._remembered(server, definition.tool)
        return bool(before) and before.get("digest") == definition.digest

    def change(self, server: str, definition: Definition) -> str:
        """What is new about a tool that was once allowed; empty where there is nothing to say."""
        before = self._remembered(server, definition.tool)
        if not before or before.get("digest") == definition.digest:
            return ""
        return f"You allowed this tool for good, but it has changed since: {_difference(before, definition)}."

    def keep(self, server: str, definition: Definition) -> None:
        """Allow it from now on. What cannot be written is asked again in the next run."""
        entry = {**asdict(definition), "digest": definition.digest, "server": server}
        tools = {**self._tools(server), definition.tool: entry}
        with suppress(OSError):
            self._memory.write({**self._memory.read(), self._identity(server): tools})

    def _remembered(self, server: str, tool: str) -> dict[str, Any]:
        entry = self._tools(server).get(tool)
        return entry if isinstance(entry, dict) else {}

    def _tools(self, server: str) -> dict[str, Any]:
        tools = self._memory.read().get(self._identity(server))
        return tools if isinstance(tools, dict) else {}

    def _identity(self, server: str) -> str:
        return identity(server, self._servers.get(server))


def _difference(before: Mapping[str, Any], now: Definition) -> str:
    said = []
    description = before.get("description")
    if description != now.description:
        said.append(f"its description was {_cut(str(description), now.description)} and is "
                    f"{_cut(now.description, str(description))}")  # fmt: skip
    old, new = _properties(before.get("schema")), _properties(now.schema)
    for words, names in (
        ("has the new parameter", new.keys() - old.keys()),
        ("has no longer the parameter", old.keys() - new.keys()),
        ("takes something else as", {name for name in old.keys() & new.keys() if old[name] != new[name]}),
    ):
        said += [f"it {words} {name}" for name in sorted(names)]
    return "; ".join(said) or "its parameters are described in another way"


def _cut(text: str, other: str) -> str:
    """`text` from shortly before the place where it begins to differ from `other`."""
    same = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), None)
    begin = max(0, (min(len(text), len(other)) if same is None else same) - KEPT_BEFORE)
    shown = text[begin : begin + SHOWN]
    return f"“{'…' if begin else ''}{shown}{'…' if begin + SHOWN < len(text) else ''}”"


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}
