"""What the decorators refuse, and what they leave alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent.mcp import Server
from agent.mcp.server.signature import SignatureError
from agent.mcp.transports.memory import channel_pair

pytestmark = pytest.mark.anyio


def nothing() -> None: ...
def clash(x: str, y: str) -> str:
    return x + y


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda server: server.tool(name="get weather")(nothing), "'get weather' is no name"),
        (lambda server: server.tool(name="x" * 129)(nothing), "is no name"),
        (lambda server: [server.tool(nothing), server.tool(nothing)], "shop offers nothing already"),
        (lambda server: [server.prompt(nothing), server.prompt(nothing)], "shop offers nothing already"),
        (lambda server: [server.resource("a://b")(nothing) for _ in "12"], "shop offers a://b already"),
        (lambda server: server.resource("a://{x")(clash), "is no URI template"),
        (lambda server: server.resource("a://{z}")(clash), "a://{z}: the function has no parameter z"),
        (lambda server: server.resource("a://b{?x,y}")(clash), "a://b{?x,y}: x, y may be missing"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_author_is_named_at_once(register: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        register(Server("shop"))


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda server: server.resource("a://{x}")(clash), "a://{x}: nothing in the URI says what y is."),
        (lambda server: server.resource("a://b")(clash), "a://b: nothing in the URI says what x, y is."),
        (lambda server: server.tool(untyped), "untyped: an annotation cannot be resolved"),
        (lambda server: server.prompt(untyped), "untyped: an annotation cannot be resolved"),
    ],
)
async def test_a_mistake_in_the_types_is_named_when_the_server_starts(register: Any, words: str) -> None:
    server = Server("shop")
    register(server)
    ours, theirs = channel_pair()
    async with ours, theirs:
        with pytest.raises(SignatureError, match=f"^{re.escape(words)}"):
            await server.serve(theirs)


def untyped(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def test_a_resource_needs_its_uri() -> None:
    with pytest.raises(TypeError, match="A resource needs its URI"):
        Server("shop").resource(nothing)  # type: ignore[arg-type]


async def test_a_decorated_function_is_still_itself() -> None:
    server = Server("shop")

    @server.tool
    async def add(a: int) -> int:
        return a + 1

    @server.prompt(name="other")
    def say(word: str) -> str:
        return word

    assert await add(1) == 2
    assert say("x") == "x"
