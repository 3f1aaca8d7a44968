"""What the decorators refuse, and what they leave alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from datetime import date
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BeforeValidator, Json

from agent.mcp import Server
from agent.mcp.server.signature import SignatureError
from agent.mcp.transports.memory import channel_pair
from agent.mcp.uri_templates import parse_template
from tests.mcp.raw_client import raw_client

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
        (lambda server: server.resource("not a uri")(nothing), "'not a uri' is no URI: one begins with a scheme"),
        (lambda server: server.resource("notes/all")(nothing), "'notes/all' is no URI"),
        (lambda server: server.resource("notes/{x}")(clash), "'notes/{x}' is no URI"),
        (lambda server: server.resource("a://b c")(nothing), "'a://b c' is no URI"),
        (lambda server: server.resource("")(nothing), "'' is no URI"),
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


class Shelf:
    def find(self, word: str) -> str:
        return word

    @classmethod
    def count(cls) -> int:
        return 3

    @staticmethod
    def sort(self: str) -> str:
        return self


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda server: server.tool(Shelf.find), "find: this is a method without its object"),
        (lambda server: server.prompt(Shelf.find), "find: this is a method without its object"),
        (lambda server: server.resource("a://{word}")(Shelf.find), "find: this is a method without its object"),
        (lambda server: server.tool(Shelf.__dict__["count"]), "<classmethod"),
        (lambda server: server.tool("find"), "'find' is no function that could be called; a name is given as name=."),
    ],
)
def test_what_cannot_be_called_is_refused_at_once(register: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=f"^{re.escape(words)}"):
        register(Server("shop"))


def test_methods_of_an_object_and_of_a_class_are_functions_like_others() -> None:
    server = Server("shop")
    for function in (Shelf().find, Shelf.count, Shelf.sort):
        server.tool(function)
    server.prepare()


@pytest.mark.parametrize("uri", ["mailto:a@b", "a:", "{+uri}", "x+y-1.2://ü/{ z }", "file:///{+path}"])
def test_whatever_has_a_scheme_is_a_uri(uri: str) -> None:
    server, names = Server("shop"), parse_template(uri).names

    def read(**given: str) -> str:
        return str(given)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    read.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    server.resource(uri)(read)
    server.prepare()


class Tint(Enum):
    RED = "red"


class Number(Enum):
    ONE = 1


class Level(IntEnum):
    HIGH = 7


Words = Annotated[list[str], BeforeValidator(lambda text: text.split(","))]


@pytest.mark.parametrize(
    "hint",
    [str, int, float, bool, date, UUID, Path, Tint, Level, Literal["a", 1], int | None, Json[list[int]], Words, Any],
)
def test_an_argument_of_a_prompt_is_whatever_can_be_read_from_text(hint: Any) -> None:
    server = Server("shop")
    server.prompt(prompt_with(hint))
    server.prepare()


@pytest.mark.parametrize(
    "hint", [list[int], dict[str, int], tuple[str, ...], Sequence[str], Number, Literal[1, 2], None, list[int] | None]
)
def test_an_argument_of_a_prompt_that_no_text_can_become_is_refused(hint: Any) -> None:
    server = Server("shop")
    server.prompt(prompt_with(hint))
    with pytest.raises(SignatureError, match=r"^ask: a prompt is given its arguments as text, and no text can be read"):
        server.prepare()


def prompt_with(hint: Any) -> Any:
    def ask(first: str, a: Any) -> str:
        return first + a

    ask.__annotations__ = {"first": str, "a": hint, "return": str}
    return ask


@pytest.mark.parametrize(("of", "argument"), [("say", "x"), ("nothing", "word"), ("a://{x}", "z"), ("a://b", "x")])
def test_a_completion_for_what_is_not_there_is_refused_at_the_start(of: str, argument: str) -> None:
    server = selling()
    server.completion(of, argument)(lambda value: [])
    with pytest.raises(SignatureError, match=f"^{argument!r} of {of!r} is no argument of a prompt or a resource"):
        server.prepare()


def selling() -> Server:
    """A server with the completions before what they are for."""
    server = Server("shop")
    server.completion("say", "word")(lambda value: ["word"])
    server.completion("a://{x}", "x")(lambda value: ["x"])
    server.resource("a://b")(nothing)

    @server.resource("a://{x}")
    async def read(x: str) -> str:
        return x

    @server.prompt
    async def say(word: str) -> str:
        return word

    return server


async def test_what_is_taken_back_takes_its_completions_with_it() -> None:
    server = selling()
    server.remove_prompt("say")
    server.remove_resource("a://{x}")
    server.prepare()
    with pytest.raises(KeyError):
        server.remove_completion("say", "word")


async def test_while_clients_are_connected_a_mistake_is_named_at_once_and_harms_nobody() -> None:
    server = selling()
    async with raw_client(server) as client:
        with pytest.raises(SignatureError, match=r"^untyped: an annotation cannot be resolved"):
            server.prompt(untyped)
        assert [prompt["name"] for prompt in (await client.ask("prompts/list"))["prompts"]] == ["say"]


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
