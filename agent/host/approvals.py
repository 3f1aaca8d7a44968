"""Permanent tool approvals, each bound to the tool's definition and the server's configuration."""

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

SHOWN = 300  # characters of a changed text that are shown
KEPT_BEFORE = 20  # characters of context before the first difference


@dataclass(frozen=True, slots=True)
class Definition:
    """What an approval applies to: everything the model is told about a tool."""

    tool: str
    description: str
    schema: dict[str, Any] = field(hash=False)

    @property
    def digest(self) -> str:
        canonical = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def define(tool: types.Tool) -> Definition:
    """The definition of a tool as shown to the model."""
    return Definition(tool.name, tool.description or tool.title or "", tool.input_schema)


class Approvals:
    """The permanent approvals. Checked at every call, so they are cached in memory until the file changes."""

    def __init__(self, path: Path, servers: Mapping[str, ServerTable]) -> None:
        self._memory, self._servers = Memory(path), servers

    def holds(self, server: str, definition: Definition) -> bool:
        """Whether exactly this definition has been approved."""
        before = self._remembered(server, definition.tool)
        return bool(before) and before.get("digest") == definition.digest

    def change(self, server: str, definition: Definition) -> str:
        """What changed in a tool since it was approved, as a sentence; empty if unchanged or never approved."""
        before = self._remembered(server, definition.tool)
        if not before or before.get("digest") == definition.digest:
            return ""
        return f"You allowed this tool for good, but it has changed since: {_difference(before, definition)}."

    def keep(self, server: str, definition: Definition) -> None:
        """Approve it permanently. If that cannot be written, the person is asked again in the next run."""
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
    """`text` from shortly before the first character that differs from `other`."""
    same = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), None)
    begin = max(0, (min(len(text), len(other)) if same is None else same) - KEPT_BEFORE)
    shown = text[begin : begin + SHOWN]
    return f"“{'…' if begin else ''}{shown}{'…' if begin + SHOWN < len(text) else ''}”"


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}
