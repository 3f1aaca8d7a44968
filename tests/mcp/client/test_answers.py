from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp.client.client import Client
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, Notification, Request, Result
from tests.mcp.foreign_server import ForeignServer, connected, initialized, tool

pytestmark = pytest.mark.anyio


async def ask(server: ForeignServer, client: Client, method: str, params: Any = None) -> Any:
    """Ask the client something, and give its answer."""
    await server.say(Request("q", method, params))
    await client.ping()  # whatever the client answered at once came before this
    while True:
        answers = [told for told in server.told if isinstance(told, Result | Failure) and told.id == "q"]
        if answers:
            return answers[0]
        await client.ping()


async def echo(method: str, params: Any) -> dict[str, Any]:
    if method == "roots/list":
        return {"roots": [{"uri": "file:///home/ana"}]}
    if method == "elicitation/create":
        return {"action": "accept", "content": {"seen": params["message"]}}
    return {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "model": "m"}


SAMPLE = {"messages": [], "maxTokens": 5}
FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
URL = {"mode": "url", "message": "go", "url": "https://a.example", "elicitationId": "e1"}
TOOLS = SAMPLE | {"tools": [tool("x")]}


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "answer"),
    [
        (None, "ping", None, Result("q", {})),
        (None, "roots/list", None, Result("q", {"roots": [{"uri": "file:///home/ana"}]})),
        (None, "elicitation/create", FORM, Result("q", {"action": "accept", "content": {"seen": "who?"}})),
        (
            {"elicitation": {"url": {}}},
            "elicitation/create",
            URL,
            Result("q", {"action": "accept", "content": {"seen": "go"}}),
        ),
        (
            None,
            "elicitation/create",
            URL,
            Failure("q", INVALID_PARAMS, "this client did not declare elicitation mode 'url'"),
        ),
        (
            {"elicitation": {"url": {}}},
            "elicitation/create",
            FORM,
            Failure("q", INVALID_PARAMS, "this client did not declare elicitation mode 'form'"),
        ),
        (
            None,
            "sampling/createMessage",
            TOOLS,
            Failure("q", INVALID_PARAMS, "this client did not declare sampling.tools"),
        ),
        (
            {"sampling": {"tools": {}}},
            "sampling/createMessage",
            TOOLS,
            Result("q", {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "model": "m"}),
        ),
        (
            {"roots": {}},
            "sampling/createMessage",
            SAMPLE,
            Failure("q", METHOD_NOT_FOUND, "this client does not offer sampling/createMessage"),
        ),
        (None, "no/such", None, Failure("q", METHOD_NOT_FOUND, "this client does not offer no/such")),
    ],
)
async def test_a_request_is_served_if_it_was_declared(capabilities: Any, method: str, params: Any, answer: Any) -> None:
    server = ForeignServer({})
    async with connected(server, answer=echo, capabilities=capabilities) as client:
        assert await ask(server, client, method, params) == answer


async def test_without_an_answer_nothing_is_declared_and_everything_refused() -> None:
    server = ForeignServer({})
    async with connected(server, capabilities={"roots": {}}) as client:
        assert await ask(server, client, "roots/list") == Failure(
            "q", METHOD_NOT_FOUND, "this client does not offer roots/list"
        )
    assert server.asked("initialize")[0]["capabilities"] == {}


async def test_with_an_answer_sampling_forms_and_roots_are_declared() -> None:
    server = ForeignServer({})
    async with connected(server, answer=echo):
        pass
    assert server.asked("initialize")[0]["capabilities"] == {"sampling": {}, "elicitation": {}, "roots": {}}


async def test_an_answer_is_shaped_for_the_revision() -> None:
    server = ForeignServer({"initialize": initialized("2025-06-18")})
    async with connected(server, answer=echo) as client:
        sampled = await ask(server, client, "sampling/createMessage", SAMPLE)
    assert sampled == Result("q", {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"})


async def test_an_older_revision_has_no_elicitation() -> None:
    server = ForeignServer({"initialize": initialized("2025-03-26")})
    async with connected(server, answer=echo) as client:
        refusal = await ask(server, client, "elicitation/create", FORM)
    assert refusal == Failure("q", METHOD_NOT_FOUND, "this client does not offer elicitation/create")


async def test_a_refusal_goes_back_as_the_error_it_is() -> None:
    async def refuse(method: str, params: Any) -> dict[str, Any]:
        raise McpError(-1, "User rejected sampling request")

    server = ForeignServer({})
    async with connected(server, answer=refuse) as client:
        assert await ask(server, client, "sampling/createMessage", SAMPLE) == Failure(
            "q", -1, "User rejected sampling request"
        )


async def test_a_tool_that_samples_inside_its_own_call_is_no_deadlock() -> None:
    class Sampler(ForeignServer):
        async def serve(self, channel: Any, /) -> None:
            self.channel = channel
            async for item in channel:
                match item.messages[0]:
                    case Request(id, "initialize"):
                        await self.say(Result(id, initialized(tools={})))
                    case Request(id, "tools/call"):
                        self.calling = id
                        await self.say(Request("s", "sampling/createMessage", SAMPLE))
                    case Result("s", sample):
                        await self.say(Result(self.calling, {"content": sample["content"]}))

    async with connected(Sampler({}), answer=echo) as client:
        assert (await client.call_tool("x")).content == (TextContent(text="yes"),)


async def test_a_withdrawn_request_is_cancelled_and_not_answered() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def ponder(method: str, params: Any) -> dict[str, Any]:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return {}

    server = ForeignServer({})
    async with connected(server, answer=ponder) as client:
        await server.say(Notification("notifications/cancelled", {"requestId": "unknown"}))
        await server.say(Request("q", "elicitation/create", FORM))
        await begun.wait()
        await server.say(Notification("notifications/cancelled", {"requestId": "q"}))
        await ended.wait()
        await client.ping()
    assert not [told for told in server.told if isinstance(told, Result | Failure)]


async def test_roots_changes_are_told_if_that_was_declared() -> None:
    for capabilities, count in (({"roots": {"listChanged": True}}, 1), ({"roots": {}}, 0)):
        server = ForeignServer({})
        async with connected(server, answer=echo, capabilities=capabilities) as client:
            await client.roots_changed()
            await client.ping()
        assert server.asked("notifications/roots/list_changed") == [None] * count
