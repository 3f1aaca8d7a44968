"""What all connections of a server share: who it is, what it offers, and what it remembers for its clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agent.mcp.lifecycle import at_least
from agent.mcp.server.catalogue import Catalogue
from agent.mcp.server.reentry import Rounds

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agent.mcp.server.kept_tasks import KeptTasks

Json = dict[str, Any]


class LifespanFailed(Exception):
    """What an author's lifespan raised as it began, as a sentence."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says about itself."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None

    def info(self, revision: str) -> Json:
        titled = {"title": self.title} if self.title and at_least(revision, "2025-06-18") else {}
        return {"name": self.name, **titled, "version": self.version}

    def hint(self) -> Json:
        return {"instructions": self.instructions} if self.instructions else {}


@dataclass(frozen=True, slots=True)
class Caching:
    """How long clients of the stateless era may keep what they were told (section "Utilities, Caching").

    `list_seconds` is for lists and for what the server says of itself, `read_seconds` for the contents of resources; a
    change that is announced ends it early. `scope` is "public" if everybody is told the same, so that one who stands
    between may keep it for all; it protects nothing.
    """

    list_seconds: float = 0.0
    read_seconds: float = 0.0
    scope: Literal["public", "private"] = "private"

    def hints(self, method: str) -> Json:
        """What belongs into a complete result of `method`."""
        if method == "resources/read":
            return {"ttlMs": round(self.read_seconds * 1_000), "cacheScope": self.scope}
        if method == "server/discover" or method.endswith("/list"):
            return {"ttlMs": round(self.list_seconds * 1_000), "cacheScope": self.scope}
        return {}


@dataclass(frozen=True, slots=True)
class Service:
    identity: Identity
    catalogue: Catalogue
    caching: Caching
    rounds: Rounds
    tasks: KeptTasks


@dataclass(frozen=True, slots=True)
class Life:
    """How long a connection's surroundings live: what the lifespan gave, and the tasks that are kept for clients."""

    lifespan: Any
    tasks: TaskGroup
