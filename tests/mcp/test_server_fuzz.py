"""A server under nonsense: every request gets one answer, and none of them is our own failure."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.mcp import Context, Server
from agent.mcp.jsonrpc import INTERNAL_ERROR, Failure
from tests.mcp.raw_client import raw_client

METHODS = [
    *("initialize", "ping", "logging/setLevel", "completion/complete"),
    *("tools/list", "tools/call", "prompts/list", "prompts/get"),
    *("resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe"),
]
KEYS = ["name", "arguments", "uri", "cursor", "level", "_meta", "ref", "argument", "context", "value", "type", "a", "x"]

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=5),
    max_leaves=12,
)
names = st.sampled_from(["add", "ask", "a://{x}", "a://1"])
params = st.none() | st.dictionaries(st.sampled_from(KEYS), names | json)
requests = st.lists(st.tuples(st.sampled_from(METHODS) | st.text(), params), min_size=1, max_size=5)


def a_server() -> Server:
    server = Server("target")

    @server.tool
    async def add(a: int) -> int:
        return a

    @server.prompt
    async def ask(a: str = "") -> str:
        return a

    @server.resource("a://{x}")
    async def read(x: str) -> str:
        return x

    @server.tool
    async def everything(ctx: Context) -> str:
        return (await ctx.sample("?")).text + repr(await ctx.elicit("?", {"type": "object", "properties": {}}))

    return server


@settings(max_examples=100, deadline=None)
@given(requests)
def test_every_request_gets_an_answer_that_is_no_failure_of_ours(requests: list[tuple[str, Any]]) -> None:
    async def converse() -> None:
        async with raw_client(a_server(), None) as client:
            for method, given in requests:
                outcome = await client.outcome(method, given)
                assert not isinstance(outcome, Failure) or outcome.code != INTERNAL_ERROR
            assert await client.ask("ping") == {}

    anyio.run(converse)


@settings(max_examples=100, deadline=None)
@given(json, json)
def test_a_tool_ends_whatever_the_client_answers(sample: Any, form: Any) -> None:
    async def converse() -> None:
        capabilities: dict[str, Any] = {"sampling": {}, "elicitation": {}}
        answers = {"sampling/createMessage": lambda _: sample, "elicitation/create": lambda _: form}
        async with raw_client(a_server(), capabilities=capabilities, answers=answers) as client:
            assert (await client.call("everything"))["content"]

    anyio.run(converse)
