"""Completion as a person meets it: what Tab offers at the end of what is typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from agent.mcp import Server
from agent.ui.terminal import completion
from agent.ui.terminal.completion import ChatCompleter
from tests.host.scene import configure, scene

pytestmark = pytest.mark.anyio

TAB = CompleteEvent(completion_requested=True)


def guide() -> Server:
    server = Server("guide")

    @server.prompt
    async def tour(city: str, season: str) -> str:
        return f"{city} in {season}"

    @server.completion("tour", "city")
    async def cities(value: str, known: dict[str, str]) -> list[str]:
        names = ["New York", "Newcastle", "bad\x1b[2J"] if known.get("season") != "winter" else ["Nice"]
        return [name for name in names if name.startswith(value) or name.startswith("bad")]

    @server.resource("guide://{city}/sights")
    async def sights(city: str) -> str:
        return city

    @server.completion("guide://{city}/sights", "city")
    async def places(value: str) -> list[str]:
        return [name for name in ("Los Angeles", "Lima") if name.startswith(value)]

    @server.resource("guide://index", name="Index-of-all")
    async def index() -> str:
        return "all"

    @server.tool
    async def walk() -> str:
        return ""

    return server


@asynccontextmanager
async def completer() -> AsyncIterator[ChatCompleter]:
    async with scene(configure({"guide": {}}), {"guide": guide()}) as view:
        yield ChatCompleter(view.host, ("call", "prompt", "read", "trace"))


async def offered(chat: ChatCompleter, text: str, event: CompleteEvent = TAB) -> list[str]:
    """The line as it would be with each of the offers."""
    found = [one async for one in chat.get_completions_async(Document(text), event)]
    return [text[: len(text) + one.start_position] + one.text for one in found]


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        ("/", ["/call", "/prompt", "/read", "/trace", "/guide:tour"]),
        ("/pr", ["/prompt"]),
        ("/call w", ["/call walk"]),
        ("/trace ", ["/trace on", "/trace off", "/trace last"]),
        ("/prompt t", ["/prompt tour"]),
        ("/prompt tour ", ["/prompt tour city=", "/prompt tour season="]),
        ("/prompt tour season=x c", ["/prompt tour season=x city="]),
        ("/prompt tour city=", ["/prompt tour city='New York'", "/prompt tour city=Newcastle"]),
        ("/prompt guide/tour city='New Y", ["/prompt guide/tour city='New York'"]),
        ("/guide:tour season=winter city=N", ["/guide:tour season=winter city=Nice"]),
        ("/prompt tour season=", []),
        ("/prompt nothing city=", []),
        ("/read g", ["/read guide://index", "/read guide://"]),
        ("/read guide://L", ["/read guide://Los%20Angeles/sights", "/read guide://Lima/sights"]),
        ("tell me of @", ["tell me of @guide://index", "tell me of @guide://"]),
        ("tell me of @index", ["tell me of @guide://index"]),
        ("@guide://Lo", ["@guide://Los%20Angeles/sights"]),
        ("mail me@gu", []),
        ("plain words", []),
    ],
)
async def test_tab_offers(typed: str, lines: list[str]) -> None:
    async with completer() as chat:
        assert await offered(chat, typed) == lines


async def test_a_server_is_asked_while_typing_only_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with completer() as chat:
        monkeypatch.setattr(completion.anyio, "sleep", sleep)
        typing = CompleteEvent(text_inserted=True)
        assert await offered(chat, "/prompt tour city=New", typing) == [
            "/prompt tour city='New York'",
            "/prompt tour city=Newcastle",
        ]
        await offered(chat, "/prompt tour city=New", TAB)
    assert pauses == [completion.PAUSE]
