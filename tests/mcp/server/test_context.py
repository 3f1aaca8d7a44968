"""What a tool can tell and ask its client while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, assert_type

import anyio
import anyio.from_thread
import pytest

from agent.mcp import Context, McpError, Server
from agent.mcp.jsonrpc import Failure
from agent.mcp.server.context import Accepted, Declined, Root
from agent.mcp.server.dialogue import ClientRefused
from tests.mcp.raw_client import raw_client, text_of

pytestmark = pytest.mark.anyio

Body = Callable[[Context], Awaitable[Any]]


def serving(body: Body) -> Server:
    """A server with one tool `run`, which is `body`, and returns the `repr` of its value."""
    server = Server("asker")

    @server.tool
    async def run(ctx: Context) -> str:
        return repr(await body(ctx))

    return server


async def report(ctx: Context) -> None:
    for done in (0, 1, 1, 0.5, float("nan"), float("inf"), 2.5):
        await ctx.progress(done, 3, f"step {done}")
    await ctx.progress(4)


@pytest.mark.parametrize("token", ["job-7", 0, ""])
async def test_progress_rises_and_carries_the_clients_token(token: Any) -> None:
    async with raw_client(serving(report)) as client:
        await client.call("run", meta={"progressToken": token})
    assert client.told("notifications/progress") == [
        {"progressToken": token, "progress": 0, "total": 3, "message": "step 0"},
        {"progressToken": token, "progress": 1, "total": 3, "message": "step 1"},
        {"progressToken": token, "progress": 2.5, "total": 3, "message": "step 2.5"},
        {"progressToken": token, "progress": 4},
    ]


@pytest.mark.parametrize("meta", [None, {"progressToken": None}, {"progressToken": [1]}, {"progressToken": True}])
async def test_without_a_token_there_is_no_progress(meta: dict[str, Any] | None) -> None:
    async with raw_client(serving(report)) as client:
        await client.call("run", meta=meta)
    assert client.told("notifications/progress") == []


async def test_the_first_revision_has_no_message_in_progress() -> None:
    async with raw_client(serving(report), "2024-11-05") as client:
        await client.call("run", meta={"progressToken": 1})
    assert client.told("notifications/progress")[0] == {"progressToken": 1, "progress": 0, "total": 3}


async def chatter(ctx: Context) -> None:
    await ctx.log("debug", {"n": 1})
    await ctx.log("info", "hello", logger="till")
    await ctx.log("error", None)


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        (None, ["info", "error"]),
        ("debug", ["debug", "info", "error"]),
        ("warning", ["error"]),
        ("emergency", []),
    ],
)
async def test_a_client_gets_the_log_messages_of_the_level_it_set(level: str | None, heard: list[str]) -> None:
    async with raw_client(serving(chatter)) as client:
        if level:
            assert await client.ask("logging/setLevel", {"level": level}) == {}
        await client.call("run")
    assert [params["level"] for params in client.told("notifications/message")] == heard


async def test_a_log_message_is_any_json() -> None:
    async with raw_client(serving(chatter)) as client:
        await client.call("run")
    assert client.told("notifications/message") == [
        {"level": "info", "logger": "till", "data": "hello"},
        {"level": "error", "data": None},
    ]


@pytest.mark.parametrize("params", [{"level": "loud"}, {"level": None}, {"level": ["info"]}, {}, None])
async def test_an_unknown_level_is_refused(params: Any) -> None:
    async with raw_client(serving(chatter)) as client:
        assert (await client.refusal("logging/setLevel", params)).code == -32602


async def test_the_client_is_known_by_what_it_said() -> None:
    async def look(ctx: Context) -> Any:
        return ctx.revision, ctx.client_info["name"], dict(ctx.client_capabilities), ctx.request_id, ctx.meta

    async with raw_client(serving(look), "2025-06-18", {"roots": {}}) as client:
        result = await client.ask("tools/call", {"name": "run", "_meta": {"trace": "x"}}, "id-1")
    assert text_of(result) == repr(("2025-06-18", "raw", {"roots": {}}, "id-1", {"trace": "x"}))


@pytest.mark.parametrize("meta", [None, 7, []])
async def test_a_misshapen_meta_is_none(meta: Any) -> None:
    async def look(ctx: Context) -> Any:
        return ctx.meta

    async with raw_client(serving(look)) as client:
        assert text_of(await client.ask("tools/call", {"name": "run", "_meta": meta})) == "{}"


@dataclass
class Seat:
    place: Literal["window", "aisle"]
    meal: bool = False


async def ask_seat(ctx: Context) -> Any:
    answer = await ctx.elicit("Which seat?", Seat)
    assert_type(answer, Accepted[Seat] | Declined)
    return answer


@pytest.mark.parametrize("capability", [{}, {"form": {}}, {"form": {}, "url": {}}])
async def test_a_form_comes_back_as_what_was_asked_for(capability: dict[str, Any]) -> None:
    answers = {"elicitation/create": lambda _: {"action": "accept", "content": {"place": "aisle"}}}
    async with raw_client(serving(ask_seat), "2025-06-18", {"elicitation": capability}, answers) as client:
        assert text_of(await client.call("run")) == repr(Accepted(Seat("aisle")))
    assert client.told("elicitation/create") == [
        {
            "message": "Which seat?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "enum": ["window", "aisle"]},
                    "meal": {"type": "boolean", "default": False},
                },
                "required": ["place"],
            },
        }
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"action": "decline"}, repr(Declined("decline"))),
        ({"action": "cancel", "content": {"place": "aisle"}}, repr(Declined("cancel"))),
        ({"action": "accept"}, "place: Field required"),
        ({"action": "accept", "content": {"place": "roof"}}, "place: Input should be 'window' or 'aisle'"),
        ({"action": "perhaps"}, "The client's answer to the form names no action."),
        ([], "The client's answer to the form names no action."),
        (Failure(None, -1, "nobody is there"), "The client refused elicitation/create: nobody is there"),
    ],
)
async def test_whatever_a_client_answers_the_tool_has_an_end(answer: Any, words: str) -> None:
    answers = {"elicitation/create": lambda _: answer}
    async with raw_client(serving(ask_seat), capabilities={"elicitation": {}}, answers=answers) as client:
        assert text_of(await client.call("run")) == words


async def test_a_schema_of_ones_own_is_answered_with_a_dict() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}

    async def ask(ctx: Context) -> Any:
        answer = await ctx.elicit("How many?", schema)
        assert_type(answer, Accepted[dict[str, Any]] | Declined)
        return answer.content

    for content, words in (({"n": 3}, "{'n': 3}"), ({"n": 0}, "0 is less than the minimum of 1")):
        answers = {"elicitation/create": lambda _, content=content: {"action": "accept", "content": content}}
        async with raw_client(serving(ask), capabilities={"elicitation": {}}, answers=answers) as client:
            assert text_of(await client.call("run")) == words
        assert client.told("elicitation/create")[0]["requestedSchema"] == schema


async def test_a_sample_is_the_models_answer() -> None:
    async def ask(ctx: Context) -> Any:
        sample = await ctx.sample(
            "Sum up", max_tokens=50, system_prompt="Be brief", stop_sequences=["."], temperature=0
        )
        return sample.text, sample.model, sample.stop_reason, sample.content

    said = {"type": "text", "text": "A summary"}
    answer = {"role": "assistant", "content": said, "model": "m-1", "stopReason": "endTurn"}
    answers = {"sampling/createMessage": lambda _: answer}
    async with raw_client(serving(ask), capabilities={"sampling": {}}, answers=answers) as client:
        assert text_of(await client.call("run")) == repr(("A summary", "m-1", "endTurn", (said,)))
    assert client.told("sampling/createMessage") == [
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Sum up"}}],
            "maxTokens": 50,
            "systemPrompt": "Be brief",
            "temperature": 0,
            "stopSequences": ["."],
        }
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"role": "assistant", "content": {"type": "text", "text": "no model"}}, "'no model'"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "model": None}, "'ab'"),
        ({"content": "bare"}, "'bare'"),
        ({"content": []}, "''"),
        ({"content": [{"type": "video"}]}, "''"),
        ({}, "The client answered the sampling request with something that is no message."),
        (None, "The client answered the sampling request with something that is no message."),
        ({"content": {"type": "text"}}, "The client answered the sampling request with something that is no message."),
        (Failure(None, -1, "User rejected"), "The client refused sampling/createMessage: User rejected"),
    ],
)
async def test_an_odd_sample_is_read_as_well_as_it_can_be(answer: Any, words: str) -> None:
    async def ask(ctx: Context) -> Any:
        return (await ctx.sample("Sum up")).text

    answers = {"sampling/createMessage": lambda _: answer}
    async with raw_client(serving(ask), capabilities={"sampling": {}}, answers=answers) as client:
        assert text_of(await client.call("run")) == words


async def test_roots_are_the_folders_of_the_client() -> None:
    async def ask(ctx: Context) -> Any:
        return await ctx.roots()

    listed = [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}, {"uri": "http://c"}, {"name": "no uri"}, None]
    answers = {"roots/list": lambda _: {"roots": listed}}
    async with raw_client(serving(ask), capabilities={"roots": {}}, answers=answers) as client:
        assert text_of(await client.call("run")) == repr([Root("file:///a", "A"), Root("file:///b")])


class Tags:
    """Several choices at once."""

    __annotations__ = {"tags": list[Literal["x", "y"]]}


DEMANDS: list[tuple[Body, dict[str, Any], str, str]] = [
    (lambda ctx: ctx.sample("x"), {}, "2025-11-25", "sampling"),
    (lambda ctx: ctx.sample("x"), {"sampling": None}, "2025-11-25", "sampling"),
    (lambda ctx: ctx.sample("x", tools=[{"name": "t"}]), {"sampling": {}}, "2025-11-25", "sampling with tools"),
    (lambda ctx: ctx.sample("x", tool_choice="none"), {"sampling": {}}, "2025-11-25", "sampling with tools"),
    (lambda ctx: ctx.elicit("x", Seat), {}, "2025-11-25", "elicitation"),
    (lambda ctx: ctx.elicit("x", Seat), {"elicitation": {"url": {}}}, "2025-11-25", "a form like this"),
    (lambda ctx: ctx.elicit("x", dataclass(Tags)), {"elicitation": {}}, "2025-06-18", "a form like this"),
    (lambda ctx: ctx.roots(), {"sampling": {}}, "2025-11-25", "roots"),
    (lambda ctx: ctx.visit("x", "https://x"), {}, "2025-11-25", "pages to open"),
    # What a revision does not have is not declared by saying so.
    (lambda ctx: ctx.elicit("x", Seat), {"elicitation": {}}, "2025-03-26", "elicitation"),
    (lambda ctx: ctx.elicit("x", Seat), {"elicitation": {"form": {}}}, "2024-11-05", "elicitation"),
    (lambda ctx: ctx.visit("x", "https://x"), {"elicitation": {"url": {}}}, "2025-06-18", "pages to open"),
    (
        lambda ctx: ctx.sample("x", tools=[{"name": "t"}]),
        {"sampling": {"tools": {}}},
        "2025-06-18",
        "sampling with tools",
    ),
]


@pytest.mark.parametrize(("body", "capabilities", "revision", "wish"), DEMANDS)
async def test_what_a_client_did_not_declare_is_not_asked(
    body: Body, capabilities: dict[str, Any], revision: str, wish: str
) -> None:
    caught: list[McpError] = []

    async def ask(ctx: Context) -> Any:
        try:
            await body(ctx)
        except ClientRefused as refusal:
            caught.append(refusal)
            raise

    async with raw_client(serving(ask), revision, capabilities) as client:
        result = await client.call("run")
    assert result["isError"]
    assert text_of(result) == f"This client does not offer {wish}."
    assert caught[0].code == -32601


async def test_once_runs_once_in_a_call_and_again_in_the_next() -> None:
    runs: list[str] = []

    def plain() -> int:
        runs.append("plain")
        return 1

    async def later() -> int:
        runs.append("later")
        return 2

    async def twice(ctx: Context) -> Any:
        return [await ctx.once(key, compute) for key, compute in (("a", plain), ("b", later)) * 2]

    async with raw_client(serving(twice)) as client:
        assert text_of(await client.call("run")) == "[1, 2, 1, 2]"
        await client.call("run")
    assert runs == ["plain", "later"] * 2


async def test_a_plain_function_reaches_the_client_from_its_thread() -> None:
    server = Server("asker")

    @server.tool
    def run(ctx: Context) -> str:
        anyio.from_thread.run(ctx.progress, 1, 2)
        return anyio.from_thread.run(ctx.sample, "x").text

    answers = {"sampling/createMessage": lambda _: {"content": "y"}}
    async with raw_client(server, capabilities={"sampling": {}}, answers=answers) as client:
        assert text_of(await client.call("run", meta={"progressToken": 1})) == "y"
    assert client.told("notifications/progress") == [{"progressToken": 1, "progress": 1, "total": 2}]
