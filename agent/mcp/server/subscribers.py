"""One subscription: its filter, and the changes that match it and are still to be sent (section "Subscriptions")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, Params
from agent.mcp.protocol import RESOURCE_UPDATED, TASK_CHANGED
from agent.mcp.uri_templates import is_within

Change = tuple[str, str | None]
"""The notification that announces it, and the URI or task it is about. Equal changes are sent once."""

BACKLOG = 1_000  # queued changes; beyond, a change of a sub-resource is queued as one of the subscribed resource

_LISTS: Mapping[str, str] = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A subscription filter: kinds of lists, resources by URI, tasks by id."""

    lists: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def shown(self) -> Params:
        """The filter as in the acknowledgement."""
        uris = {"resourceSubscriptions": list(self.uris)} if self.uris else {}
        tasks = {"taskIds": list(self.tasks)} if self.tasks else {}
        return dict.fromkeys(self.lists, True) | uris | tasks


def read_wanted(params: Params) -> Wanted:
    """Raises McpError."""
    asked = params.get("notifications")
    if not isinstance(asked, dict):
        raise McpError(INVALID_PARAMS, "notifications must be an object")
    lists = tuple(name for name in _LISTS if asked.get(name) is True)
    return Wanted(lists, _names(asked, "resourceSubscriptions"), _names(asked, "taskIds"))


class Subscriber:
    """A queue of the changes that match a filter. Equal changes are queued once."""

    def __init__(self, wanted: Wanted) -> None:
        self._uris, self._tasks = wanted.uris, frozenset(wanted.tasks)
        self._methods = {_LISTS[name] for name in wanted.lists}
        self._pending: dict[Change, None] = {}
        self._woken = anyio.Event()
        self.ended = False

    def note(self, change: Change) -> None:
        if (heard := self._heard(change)) is not None:
            self._pending[heard] = None
            self._woken.set()

    def end(self) -> None:
        """No more changes will come."""
        self.ended = True
        self._woken.set()

    async def changes(self) -> list[Change]:
        """Wait for changes and take them; empty once the subscription has ended."""
        while not self._pending and not self.ended:
            await self._woken.wait()
            self._woken = anyio.Event()
        changes, self._pending = list(self._pending), {}
        return changes

    def _heard(self, change: Change) -> Change | None:
        method, name = change
        if name is None:
            return change if method in self._methods else None
        if method == TASK_CHANGED:
            return change if name in self._tasks else None
        if method != RESOURCE_UPDATED:
            return None
        known = next(within(name, self._uris), None)
        if known is None:
            return None
        return (method, known) if len(self._pending) >= BACKLOG else change


def within(uri: str, known: Iterator[str] | tuple[str, ...] | set[str]) -> Iterator[str]:
    """Those of the known URIs that are the URI of the resource, or of one that contains it."""
    return (one for one in known if is_within(uri, one))


def _names(asked: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = asked.get(key)
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise McpError(INVALID_PARAMS, f"notifications.{key} must be a list of strings")
    return tuple(dict.fromkeys(names))
