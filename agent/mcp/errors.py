"""What a call over a session raises."""

from __future__ import annotations

from typing import Any


class McpError(Exception):
    """A JSON-RPC error: raised where the other side answered with one, and raised in a handler to answer with one.

    `code` is the JSON-RPC error code, `data` whatever else the sender attached.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Unreadable(Exception):
    """A response arrived, but could not be read. Local: the other side is not told."""
