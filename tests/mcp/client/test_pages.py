from __future__ import annotations

from typing import Any

import pytest

from agent.mcp.client.pages import read_all
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from tests.mcp.foreign_server import tool

pytestmark = pytest.mark.anyio


class Book:
    """Gives pages, or raises errors, in turn; `asked` are the cursors."""

    def __init__(self, *pages: Any) -> None:
        self.pages, self.asked, self.notices = list(pages), list[Any](), list[str]()

    async def fetch(self, method: str, params: Any) -> Any:
        self.asked.append((params or {}).get("cursor"))
        page = self.pages.pop(0)
        if isinstance(page, McpError):
            raise page
        return page

    async def names(self) -> list[str]:
        return [found.name for found in await read_all(self.fetch, "tools/list", self.notices.append)]


def page(*names: str, cursor: str | None = None) -> dict[str, Any]:
    return {"tools": [tool(name) for name in names], "nextCursor": cursor}


async def test_a_list_whose_cursor_became_void_is_read_once_more() -> None:
    void = McpError(INVALID_PARAMS, "no such cursor")
    book = Book(page("a", cursor="2"), void, page("b", cursor="3"), page("c"))
    assert await book.names() == ["b", "c"]
    assert book.asked == [None, "2", None, "3"]


async def test_and_not_for_ever() -> None:
    void = McpError(INVALID_PARAMS, "no such cursor")
    book = Book(page("a", cursor="2"), void, page("a", cursor="2"), void)
    with pytest.raises(McpError, match="no such cursor"):
        await book.names()


async def test_an_item_that_turns_up_on_two_pages_is_one() -> None:
    assert await Book(page("a", "b", cursor=""), page("b", "c")).names() == ["a", "b", "c"]


async def test_a_list_that_is_not_there_is_empty_with_a_notice() -> None:
    book = Book(McpError(METHOD_NOT_FOUND, "no"))
    assert await book.names() == []
    assert book.notices == ["The server declared more than it has: it does not know tools/list."]
