"""The resource subscriptions of one server."""

from __future__ import annotations

import math
import time

from agent.mcp.uri_templates import is_within

APART = 1.0  # minimum seconds between two notices about one resource


class Subscriptions:
    """The subscribed URIs, kept across reconnections."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    @property
    def uris(self) -> tuple[str, ...]:
        return tuple(self._told)

    def add(self, uri: str) -> None:
        self._told.setdefault(uri, -math.inf)

    def discard(self, uri: str) -> None:
        self._told.pop(uri, None)

    def is_news(self, changed: str) -> bool:
        """Whether to report an update of this resource (or of one below a subscribed one): at most one per interval."""
        now = time.monotonic()
        concerned = [uri for uri in self._told if is_within(changed, uri)]
        if not any(now - self._told[uri] >= APART for uri in concerned):
            return False
        self._told.update(dict.fromkeys(concerned, now))
        return True
