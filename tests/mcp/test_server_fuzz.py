"""A server under nonsense: every request gets one answer, in time, and none of them is our own failure."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp import Context, Server
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from tests.mcp.anything import METHODS, dose, names, objects, shallow, texts, values
from tests.mcp.raw_client import Answer, RawClient, raw_client
from tests.mcp.stateless_caller import CAPABILITIES, EVERYTHING, LOG_LEVEL, REVISION, Caller, caller

pytestmark = pytest.mark.usefixtures("quiet")

TOOLS = ("add", "echo", "everything", "fail", "later")
CLIENT = {"sampling": {}, "elicitation": {}, "roots": {}}
ASKED = ("sampling/createMessage", "elicitation/create", "roots/list")
WITHOUT_END = "subscriptions/listen"

plausible = st.sampled_from([*TOOLS, "ask", "a://{x}", "a://1", "info"])
schemas = shallow(st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | names)
members = {
    "name": plausible | values,
    "uri": plausible | values,
    "arguments": objects | st.fixed_dictionaries({}, optional={"a": values, "value": values}) | values,
    "cursor": values,
    "level": plausible | values,
    "ref": st.fixed_dictionaries({"type": st.sampled_from(["ref/prompt", "ref/resource"]), "name": plausible}) | values,
    "argument": st.fixed_dictionaries({"name": plausible | st.just("a"), "value": texts}) | values,
    "context": objects | values,
    "taskId": values,
    "inputResponses": objects | values,
    "requestState": values,
    "protocolVersion": st.sampled_from(HANDSHAKE_REVISIONS) | values,
}
params = st.none() | st.fixed_dictionaries({}, optional=members) | objects
metas = st.just({"progressToken": 1}) | objects | values
requests = st.tuples(st.sampled_from(METHODS) | st.just(WITHOUT_END) | texts, params)
calls = st.tuples(st.just("tools/call"), st.fixed_dictionaries({"name": plausible, "arguments": members["arguments"]}))
stateless_methods = st.sampled_from([method for method in METHODS if method != "initialize"]) | names
stateless_requests = st.tuples(stateless_methods | st.just(WITHOUT_END), params) | calls
envelopes = st.fixed_dictionaries(
    {REVISION: st.just("2026-07-28") | values, CAPABILITIES: st.just(EVERYTHING) | st.just({}) | values},
    optional={LOG_LEVEL: plausible, "progressToken": values},
)
answers = st.fixed_dictionaries(dict.fromkeys(ASKED, values | objects | st.just(Failure(0, -1, "no"))))


def a_server() -> Server:
    server = Server("here", state_key="secret")

    @server.tool
    async def add(a: int, b: float = 1, c: list[str] | None = None) -> float:
        return a + b

    @server.tool
    async def echo(value: Any) -> Any:
        return value

    @server.tool
    async def fail() -> str:
        raise ZeroDivisionError

    @server.tool
    async def everything(ctx: Context) -> str:
        await ctx.progress(1, 2, "half")
        await ctx.log("info", {"at": 1})
        sample = (await ctx.sample("?")).text
        form = await ctx.elicit("?", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        return f"{sample} {form} {await ctx.roots()}"

    @server.tool(task="optional")
    async def later(ctx: Context, a: int = 1) -> str:
        await ctx.begin_task()
        return str(a)

    @server.prompt
    async def ask(a: str = "") -> str:
        return a

    @server.resource("a://{x}")
    async def read(x: str) -> str:
        return x

    return server


def answering(said: dict[str, Any]) -> dict[str, Answer]:
    return {method: (lambda _, answer=answer: answer) for method, answer in said.items()}


async def all_answers(client: RawClient, ids: set[RequestId], free: set[RequestId]) -> None:
    """Read until the requests are answered, each once and none with a failure of ours; `free` may go without."""
    await client.say(Request("the last", "ping"))
    heard: Counter[RequestId | None] = Counter()
    while not ids | {"the last"} <= heard.keys():
        message = await client.hear()
        if isinstance(message, Result | Failure):
            heard[message.id] += 1
            assert not isinstance(message, Failure) or message.code != INTERNAL_ERROR
    assert set(heard.values()) == {1}
    assert heard.keys() <= ids | free | {"the last"}


async def in_time(client: RawClient, said: list[tuple[str, Any]], withdrawn: list[int]) -> None:
    """Send all at once, take some of it back, and read what comes."""
    for id, (method, its_params) in enumerate(said):
        await client.say(Request(id, method, its_params))
    for id in withdrawn:
        await client.say(Notification("notifications/cancelled", {"requestId": id}))
    free = {id for id, (method, _) in enumerate(said) if id in withdrawn or method == WITHOUT_END}
    await all_answers(client, set(range(len(said))) - free, free)


@dose(0.25)
@given(st.none() | st.sampled_from(HANDSHAKE_REVISIONS), st.lists(requests | calls, max_size=6), answers, st.data())
def test_every_request_of_the_handshake_era_gets_one_answer(
    revision: str | None, said: list[tuple[str, Any]], answers: dict[str, Any], data: st.DataObject
) -> None:
    withdrawn = data.draw(st.lists(st.integers(0, 6), max_size=2))

    async def converse() -> None:
        async with raw_client(a_server(), revision, CLIENT, answering(answers)) as client:
            await in_time(client, said, withdrawn)

    anyio.run(converse)


@dose(0.25)
@given(st.lists(st.tuples(stateless_requests, envelopes), max_size=6), st.lists(st.integers(0, 6), max_size=2))
def test_every_request_of_the_stateless_era_gets_one_answer(
    said: list[tuple[tuple[str, Any], dict[str, Any]]], withdrawn: list[int]
) -> None:
    async def converse() -> None:
        async with raw_client(a_server(), None) as client:
            dressed = [(method, {**(its_params or {}), "_meta": meta}) for (method, its_params), meta in said]
            await in_time(client, dressed, withdrawn)

    anyio.run(converse)


@dose(0.25)
@given(st.lists(requests | calls, min_size=1, max_size=4), st.booleans())
def test_every_request_of_a_batch_gets_one_answer(said: list[tuple[str, Any]], has_batches: bool) -> None:
    requests = [Request(id, *each) for id, each in enumerate(said) if each[0] != WITHOUT_END]

    async def converse() -> None:
        async with raw_client(a_server(), "2025-03-26" if has_batches else "2025-06-18") as client:
            await client.channel.send(Envelope((*requests, Request("the last", "ping")), batch=True))
            heard: list[Message] = []
            with anyio.fail_after(5):
                while not any(message.id in ("the last", None) for message in heard if not is_call(message)):
                    heard += (await client.channel.receive()).messages
            found = Counter(message.id for message in heard if isinstance(message, Result | Failure))
            expected = Counter([request.id for request in requests] + ["the last"]) if has_batches else Counter([None])
            assert found == expected

    anyio.run(converse)


def is_call(message: Message) -> bool:
    return isinstance(message, Request | Notification)


@dose(0.25)
@given(answers)
def test_a_tool_ends_whatever_the_client_answers(said: dict[str, Any]) -> None:
    async def converse() -> None:
        async with raw_client(a_server(), capabilities=CLIENT, answers=answering(said)) as client:
            assert (await client.call("everything"))["content"]

    anyio.run(converse)


@dose(0.25)
@given(st.lists(st.dictionaries(st.sampled_from(["1", "2", "3"]) | names, values | objects), min_size=1, max_size=5))
def test_a_tool_of_the_stateless_era_asks_or_ends_whatever_the_client_answers(rounds: list[dict[str, Any]]) -> None:
    async def converse() -> None:
        async with caller(a_server()) as client:
            state: dict[str, Any] = {}
            for given in rounds:
                said = client.said({"name": "everything", "inputResponses": given, **state})
                outcome = await client.raw.outcome("tools/call", said)
                if isinstance(outcome, Failure):
                    assert outcome.code == INVALID_PARAMS
                else:
                    state = {key: outcome.value[key] for key in ["requestState"] if key in outcome.value}

    anyio.run(converse)


@dose(0.25)
@given(st.integers(0, 10_000), st.text(st.characters(), max_size=3), st.integers(0, 3), values)
def test_a_state_that_was_altered_is_refused(at: int, put: str, cut: int, other: Any) -> None:
    async def converse() -> None:
        async with caller(a_server()) as client:
            state = (await client.call("everything"))["requestState"]
            at_most = at % (len(state) + 1)
            altered = state[:at_most] + put + state[at_most + cut :]
            for forged in {altered, str(other)} - {state}:
                await _expect_refused(client, forged)

    anyio.run(converse)


async def _expect_refused(client: Caller, state: str) -> None:
    refusal = await client.refusal("tools/call", name="everything", requestState=state)
    assert (refusal.code, refusal.data) == (INVALID_PARAMS, {"reason": "invalid_request_state"})
