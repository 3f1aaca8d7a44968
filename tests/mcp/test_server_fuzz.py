"""A server under nonsense: every request gets one answer, and none of them is our own failure."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.mcp import Context, Server
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, Failure
from tests.mcp.raw_client import raw_client
from tests.mcp.stateless_caller import CAPABILITIES, EVERYTHING, LOG_LEVEL, REVISION, caller

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
    server = Server("here")

    @server.tool
    async def add(a: int) -> int:
        return a

    @server.prompt
    async def ask(a: str = "") -> str:
        return a

    @server.resource("a://{x}")
    async def read(x: str) -> str:
        return x

    @server.tool(task="optional")
    async def job(ctx: Context) -> str:
        return repr(await ctx.elicit("?", {"type": "object", "properties": {}}))

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


STATELESS_METHODS = [
    *("server/discover", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"),
    *(method for method in METHODS if "/" in method),
]
STATELESS_KEYS = [
    "inputResponses",
    "requestState",
    "notifications",
    "taskId",
    "task",
    "name",
    "uri",
    "cursor",
    "arguments",
]
stateless_names = names | st.sampled_from(["everything", "job", "question-1"])
stateless_params = st.dictionaries(st.sampled_from(STATELESS_KEYS), stateless_names | json)
envelopes = st.fixed_dictionaries(
    {}, optional={REVISION: st.just("2026-07-28") | json, CAPABILITIES: st.just(EVERYTHING) | json, LOG_LEVEL: json}
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STATELESS_METHODS), stateless_params, envelopes | st.just(None)), max_size=5))
def test_requests_that_stand_for_themselves_get_answers_too(requests: list[tuple[str, Any, Any]]) -> None:
    sound = {REVISION: "2026-07-28", CAPABILITIES: EVERYTHING}

    async def converse() -> None:
        async with raw_client(a_server(), None) as client:
            for method, given, envelope in requests:
                if method == "subscriptions/listen" and isinstance(given.get("notifications"), dict):
                    continue  # the answer to that is the end of it
                outcome = await client.outcome(method, {**given, "_meta": sound if envelope is None else envelope})
                assert not isinstance(outcome, Failure) or outcome.code != INTERNAL_ERROR
            assert (await client.ask("server/discover", {"_meta": sound}))["resultType"] == "complete"

    anyio.run(converse)


@settings(max_examples=100, deadline=None)
@given(json, json)
def test_answers_of_any_shape_come_to_an_end(sample: Any, form: Any) -> None:
    async def converse() -> None:
        async with caller(a_server()) as client:
            asked = await client.call("everything")
            for answer in (sample, form):
                (name,) = asked["inputRequests"]
                more = {"inputResponses": {name: answer}, "requestState": asked["requestState"]}
                outcome = await client.raw.outcome("tools/call", client.said({"name": "everything", **more}))
                if isinstance(outcome, Failure):
                    assert outcome.code == INVALID_PARAMS
                    return
                if outcome.value["resultType"] == "complete":
                    return
                asked = outcome.value

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
