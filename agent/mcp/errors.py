"""Exceptions of a request over a session."""

from __future__ import annotations

from typing import Any


class McpError(Exception):
    """A JSON-RPC error: raised if the other side responds with one; a handler raises it to respond with one.

    `code` is the JSON-RPC error code, `data` whatever else the sender attached.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Unreadable(Exception):
    """A response arrived, but could not be parsed. Raised locally only: no error is sent to the other side."""
