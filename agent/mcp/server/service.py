"""What all connections of a server share: identity, catalogue, caching, request state and tasks."""

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
    """The lifespan raised an exception on entry. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The server's `serverInfo` and instructions."""

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
    """How long clients of the stateless era may cache results (section "Utilities, Caching").

    `list_seconds` is for lists and discovery, `read_seconds` for the contents of resources; a notified change
    invalidates them earlier. `scope` is "public" if results are the same for every client, so that shared caches may
    store them. It is no access control.
    """

    list_seconds: float = 0.0
    read_seconds: float = 0.0
    scope: Literal["public", "private"] = "private"

    def hints(self, method: str) -> Json:
        """`ttlMs` and `cacheScope` of a complete result of `method`."""
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
    """The scope of a lifespan: what it yielded, and the task group of tasks that outlive their request."""

    lifespan: Any
    tasks: TaskGroup
