"""Suggestions for arguments: asked of the server once, never waited for long, and absent rather than an error."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.host import suggestions as module
from agent.mcp import McpError, Server
from tests.host.scene import Scene, configure, scene

pytestmark = pytest.mark.anyio


def guide(asked: list[tuple[str, dict[str, str]]], answer: Any = None) -> Server:
    server = Server("guide")

    @server.prompt
    async def tour(city: str, season: str) -> str:
        return f"{city} in {season}"

    @server.completion("tour", "city")
    async def cities(value: str, known: dict[str, str]) -> list[str]:
        asked.append((value, known))
        if answer:
            return await answer()
        return [city for city in ("Berlin", "Bern", "Paris") if city.startswith(value)]

    @server.resource("guide://{city}")
    async def page(city: str) -> str:
        return city

    @server.completion("guide://{city}", "city")
    async def pages(value: str) -> list[str]:
        return [f"{value}!"]

    return server


async def cities(view: Scene, value: str, **known: str) -> tuple[str, ...]:
    [prompt] = view.host.prompts()
    return await view.host.suggestions.for_prompt(prompt, "city", value, known)


async def test_a_server_s_suggestions_are_asked_for_once() -> None:
    asked: list[Any] = []
    async with scene(configure({"guide": {}}), {"guide": guide(asked)}) as view:
        for _ in range(2):
            assert await cities(view, "Ber", season="spring") == ("Berlin", "Bern")
        assert await cities(view, "Ber") == ("Berlin", "Bern")
        assert asked == [("Ber", {"season": "spring"}), ("Ber", {})]
        [template] = view.host.templates()
        assert await view.host.suggestions.for_template(template, "city", "Rome", {}) == ("Rome!",)


async def test_answers_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    asked: list[Any] = []
    async with scene(configure({"guide": {}}), {"guide": guide(asked)}) as view:
        for value in ("a", "b", "c", "a"):
            await cities(view, value)
    assert [value for value, _ in asked] == ["a", "b", "c", "a"]


async def test_what_is_old_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH", 0.0)
    asked: list[Any] = []
    async with scene(configure({"guide": {}}), {"guide": guide(asked)}) as view:
        await cities(view, "a")
        await cities(view, "a")
    assert len(asked) == 2


async def test_a_server_that_fails_or_does_not_answer_suggests_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)

    async def fail() -> list[str]:
        raise McpError(-32603, "no")

    for answer in (fail, anyio.sleep_forever):
        async with scene(configure({"guide": {}}), {"guide": guide([], answer)}) as view:
            assert await cities(view, "a") == ()


async def test_a_server_that_is_not_there_or_has_none_is_not_asked() -> None:
    bare = Server("bare")
    bare.prompt(name="tour")(lambda city: city)
    async with scene(configure({"bare": {}}), {"bare": bare}) as view:
        assert await cities(view, "a") == ()
        [prompt] = view.host.prompts()
        view.host.connections["bare"].stop()
        await view.host.connections["bare"].ended.wait()
        assert await view.host.suggestions.for_prompt(prompt, "city", "a", {}) == ()
        assert view.host.connections["bare"].state == "stopped"
