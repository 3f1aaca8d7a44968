"""Paginated lists (section "Utilities, Pagination")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent.mcp import wire
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Params

PAGES = 1_000  # of one list that are requested

FetchPage = Callable[[str, Params | None], Awaitable[Any]]


async def read_all(fetch: FetchPage, method: str, notice: wire.Notice) -> list[Any]:
    """Every item once, in the server's order: follows cursors until there is none, or one is repeated.

    A list that changes while it is read may invalidate a cursor; it is then read once more from the beginning.
    """
    try:
        return await _read(fetch, method, notice)
    except StaleCursor:
        return await _read(fetch, method, notice)


class StaleCursor(McpError):
    """The server no longer accepts a cursor that it gave."""


async def _read(fetch: FetchPage, method: str, notice: wire.Notice) -> list[Any]:
    key = wire.LISTINGS[method].key
    found: dict[str, Any] = {}
    cursor: str | None = None
    asked: set[str | None] = set()
    while cursor not in asked and len(asked) < PAGES:
        asked.add(cursor)
        page = await _page(fetch, method, cursor, notice)
        for item in page.items:
            found.setdefault(getattr(item, key), item)
        cursor = page.cursor
        if cursor is None:
            return list(found.values())
    notice(f"The pages of {method} come to no end; {len(asked)} were read.")
    return list(found.values())


async def _page(fetch: FetchPage, method: str, cursor: str | None, notice: wire.Notice) -> wire.Page:
    try:
        result = await fetch(method, None if cursor is None else {"cursor": cursor})
    except McpError as error:
        if cursor is not None and error.code == INVALID_PARAMS:
            raise StaleCursor(error.code, error.message, error.data) from error
        if error.code != METHOD_NOT_FOUND:
            raise
        notice(f"The server declared more than it has: it does not know {method}.")
        return wire.Page([], None)
    return wire.read_page(method, result, notice)
