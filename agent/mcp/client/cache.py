"""Results that may be used again for a while, by the server's own hints (section "Caching", 2026-07-28), with no clock.

Every client has its own, so what is private to one stays with it.
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
"""The methods, each with the param on which its result depends."""

STALE: Mapping[str, tuple[str, ...]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
"""What a notification makes stale."""

KEPT = 256  # results

Key = tuple[str, Any]


def key_of(method: str, params: Params) -> Key | None:
    """None for a request whose result is never kept."""
    if method not in CACHEABLE:
        return None
    return method, params.get(CACHEABLE[method] or "")


class Cache:
    """`now` is any clock that only rises, in seconds."""

    def __init__(self) -> None:
        self._kept: dict[Key, tuple[float, Any]] = {}
        self._dropped: dict[str, int] = {}

    def get(self, key: Key, now: float) -> Any | None:
        expires, result = self._kept.get(key, (now, None))
        return result if now < expires else None

    def age(self, method: str) -> int:
        """Changes whenever results of the method become stale: what was asked for before is not to be kept."""
        return self._dropped.get(method, 0)

    def put(self, key: Key, result: Mapping[str, Any], now: float) -> None:
        """Keep it as long as it says, which may be not at all."""
        ttl = result.get("ttlMs")
        if isinstance(ttl, bool) or not isinstance(ttl, int | float) or ttl <= 0:
            self._kept.pop(key, None)
            return
        if len(self._kept) >= KEPT:
            self._kept = {kept: entry for kept, entry in self._kept.items() if entry[0] > now}
        if len(self._kept) < KEPT:
            self._kept[key] = (now + ttl / 1_000, result)

    def hear(self, method: str, params: Params) -> None:
        """Forget what a notification makes stale."""
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
    """A notification may name a part of the resource that was read."""
    return isinstance(resource, str) and is_within(changed, resource)
