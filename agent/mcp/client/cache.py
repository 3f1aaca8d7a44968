"""A cache of results, kept as long as their `ttlMs` says, with no clock (section "Caching", 2026-07-28).

Every client has its own, so results of private scope are never shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.mcp.jsonrpc import Params
from agent.mcp.protocol import RESOURCE_UPDATED
from agent.mcp.uri_templates import is_within

CACHEABLE: Mapping[str, str | None] = {
    "server/discover": None,
    "tools/list": "cursor",
    "prompts/list": "cursor",
    "resources/list": "cursor",
    "resources/templates/list": "cursor",
    "resources/read": "uri",
}
"""Cacheable methods, each with the param that its result depends on."""

STALE: Mapping[str, tuple[str, ...]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
"""The methods whose results a notification invalidates."""

KEPT = 256  # results

Key = tuple[str, Any]


def key_of(method: str, params: Params) -> Key | None:
    """None if results of `method` are not cacheable."""
    if method not in CACHEABLE:
        return None
    return method, params.get(CACHEABLE[method] or "")


class Cache:
    """`now` is a monotonic time in seconds."""

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[float, Any]] = {}
        self._dropped: dict[str, int] = {}

    def get(self, key: Key, now: float) -> Any | None:
        expires, result = self._kept.get(key, (now, None))
        return result if now < expires else None

    def age(self, method: str) -> int:
        """A number that changes when results of the method are invalidated: what was requested before is not stored."""
        return self._dropped.get(method, 0)

    def put(self, key: Key, result: Mapping[str, Any], now: float) -> None:
        """Store a result for its `ttlMs`; without a positive one it is not stored."""
        ttl = result.get("ttlMs")
        if isinstance(ttl, bool) or not isinstance(ttl, int | float) or ttl <= 0:
            self._kept.pop(key, None)
            return
        if len(self._kept) >= KEPT:
            self._kept = {kept: entry for kept, entry in self._kept.items() if entry[0] > now}
        if len(self._kept) < KEPT:
            self._kept[key] = (now + ttl / 1_000, result)

    def hear(self, method: str, params: Params) -> None:
        """Drop the results that a notification invalidates."""
        for stale in STALE.get(method, ()):
            self.drop(stale)
        uri = params.get("uri")
        if method == RESOURCE_UPDATED and isinstance(uri, str):
            self._bump("resources/read")
            for key in [key for key in self._kept if key[0] == "resources/read" and _holds(key[1], uri)]:
                del self._kept[key]

    def drop(self, method: str) -> None:
        self._bump(method)
        for key in [key for key in self._kept if key[0] == method]:
            del self._kept[key]

    def _bump(self, method: str) -> None:
        self._dropped[method] = self.age(method) + 1


def _holds(resource: Any, changed: str) -> bool:
    """Whether a change of URI `changed` affects `resource`: it may be a sub-resource."""
    return isinstance(resource, str) and is_within(changed, resource)
