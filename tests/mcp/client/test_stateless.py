from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types import Completion, TextContent

from agent.mcp.client.client import Client
from agent.mcp.client.input_requests import InputRefused
from agent.mcp.envelope import Envelope
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import METHOD_NOT_FOUND, Failure, Notification, Request
from agent.mcp.lifecycle import NotOffered
from tests.mcp.foreign_server import ForeignServer, connected, tool
from tests.mcp.modern_server import META, asks, complete, discovered, in_turn, meta, text, without_meta

pytestmark = pytest.mark.anyio

FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SAMPLE = {"messages": [], "maxTokens": 5}
ANA = {"action": "accept", "content": {"name": "Ana"}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///home/ana"}]}
DECLARED = {"sampling": {}, "elicitation": {}, "roots": {}}


async def willing(method: str, params: Any) -> Mapping[str, Any]:
    return {"roots/list": ROOTS, "elicitation/create": ANA, "sampling/createMessage": SAMPLED}[method]


@asynccontextmanager
async def modern(answers: Mapping[str, Any], **more: Any) -> AsyncIterator[tuple[Client, ForeignServer]]:
    server = ForeignServer({"server/discover": discovered()} | dict(answers))
    async with connected(server, **more) as client:
        yield client, server


# What every request says.


async def test_every_request_says_who_asks_in_which_revision_and_what_they_can_do() -> None:
    listings = {
        "tools/list": complete(tools=[]),
        "prompts/list": complete(prompts=[]),
        "resources/list": complete(resources=[]),
        "resources/templates/list": complete(resourceTemplates=[]),
    }
    calls = {
        "tools/call": text("x"),
        "prompts/get": complete(messages=[]),
        "resources/read": complete(contents=[]),
        "completion/complete": complete(completion={"values": ["a"]}),
    }
    async with modern(listings | calls, answer=willing) as (client, server):
        for listing in (client.list_tools, client.list_prompts, client.list_resources, client.list_resource_templates):
            assert await listing() == []
        await client.call_tool("x", {"a": 1})
        await client.get_prompt("p", {"a": "b"})
        await client.read_resource("a:b")
        ref = {"type": "ref/prompt", "name": "p"}
        assert await client.complete(ref, "x", "y", {"a": "b"}) == Completion(values=["a"])
        await client.ping()
    asked = [told for told in server.told if isinstance(told, Request)]
    assert [request.method for request in asked] == ["server/discover", *listings, *calls, "server/discover"]
    assert all((request.params or {})["_meta"] == meta(DECLARED) for request in asked)
    assert without_meta(server.asked("tools/call")[0]) == {"name": "x", "arguments": {"a": 1}}
    assert without_meta(server.asked("completion/complete")[0]) == {
        "ref": ref,
        "argument": {"name": "x", "value": "y"},
        "context": {"arguments": {"a": "b"}},
    }


async def test_progress_is_asked_for_with_the_id_of_the_request() -> None:
    reports: list[Any] = []
    async with modern({"tools/call": text("x")}) as (client, server):
        server.before = (Notification("notifications/progress", {"progressToken": 2, "progress": 1, "total": 2}),)
        await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert server.asked("tools/call")[0]["_meta"] == meta(progressToken=2)
    assert reports == [(1, 2, "")]


async def test_log_messages_are_asked_for_with_each_request() -> None:
    async with modern({"tools/call": text("x")}) as (client, server):
        await client.set_logging_level("warning")
        await client.call_tool("x")
    assert server.asked("tools/call")[0]["_meta"] == meta(**{META + "logLevel": "warning"})


async def test_the_trace_context_of_the_caller_goes_with_each_request() -> None:
    traces = iter([{"traceparent": f"00-{'4b' * 16}-{'0f' * 8}-01", "tracestate": "a=b", "baggage": "c=d"}, {}])
    async with modern({"tools/call": text("x")}, trace=lambda: next(traces)) as (client, server):
        await client.call_tool("x")
        await client.call_tool("x")
    first, second = (asked["_meta"] for asked in server.asked("tools/call"))
    assert first == meta(traceparent=f"00-{'4b' * 16}-{'0f' * 8}-01", tracestate="a=b", baggage="c=d")
    assert second == meta()


async def test_what_the_server_did_not_declare_is_not_asked_for() -> None:
    async with modern({"server/discover": discovered(capabilities={})}) as (client, server):
        assert await client.list_tools() == []
        for call in (
            client.call_tool("x"),
            client.read_resource("a:b"),
            client.subscribe("a:b"),
            client.set_logging_level("info"),
        ):
            with pytest.raises(NotOffered, match="The server does not offer "):
                await call
        await client.roots_changed()
    assert len(server.told) == 1


async def test_a_call_that_is_cancelled_is_withdrawn() -> None:
    async with modern({"tools/call": text("x")}) as (client, server):
        server._answer = lambda request: Notification("silence")  # type: ignore[method-assign]
        with anyio.move_on_after(0.01):
            await client.call_tool("slow")
        del server._answer  # type: ignore[method-assign]
        await client.ping()
    assert server.asked("notifications/cancelled") == [{"requestId": 2, "reason": "the caller no longer waits"}]


async def test_a_request_of_the_servers_is_no_part_of_this_era_and_not_answered() -> None:
    async with modern({}, answer=willing) as (client, server):
        await server.say(Request("q", "roots/list"), Request("p", "ping"))
        assert server.channel
        await server.channel.send(Envelope((Request("b", "ping"),), batch=True))
        await client.ping()
    assert [type(told) for told in server.told] == [Request, Request]


# What results say.


@pytest.mark.parametrize("kind", [{}, {"resultType": None}, {"resultType": "complete"}])
async def test_a_result_without_its_kind_is_complete(kind: dict[str, Any]) -> None:
    answer = kind | {"content": [{"type": "text", "text": "x"}]}
    async with modern({"tools/call": answer}) as (client, _):
        assert (await client.call_tool("x")).content == (TextContent(text="x"),)


@pytest.mark.parametrize("kind", ["banana", "", 3, {}, True])
async def test_a_result_of_an_unknown_kind_is_no_result(kind: Any) -> None:
    async with modern({"tools/call": {"resultType": kind, "content": []}}) as (client, _):
        with pytest.raises(Unreadable, match="The server answered tools/call with a result of an unknown kind"):
            await client.call_tool("x")


@pytest.mark.parametrize("answer", [None, [], "x", 3])
async def test_a_result_that_is_no_object_is_no_result(answer: Any) -> None:
    async with modern({"tools/call": answer}) as (client, _):
        with pytest.raises(Unreadable, match=r"The server's answer to tools/call is no object\."):
            await client.call_tool("x")


async def test_a_tool_may_give_any_json_as_its_structured_result() -> None:
    answers = in_turn(text("x", structuredContent=value) for value in ([1], 0, "x", False))
    async with modern({"tools/call": answers}) as (client, _):
        assert [(await client.call_tool("x")).structured_content for _ in range(4)] == [[1], 0, "x", False]


# Errors that say how to do better.


async def test_another_revision_is_used_from_then_on() -> None:
    refusal = Failure(None, -32022, "no", {"supported": ["2026-07-28", "2025-11-25"]})
    async with modern({"tools/call": in_turn([refusal, text("x")])}) as (client, server):
        assert (await client.call_tool("x")).content == (TextContent(text="x"),)
    assert len(server.asked("tools/call")) == 2


@pytest.mark.parametrize("supported", [["2026-07-28"], ["2025-11-25"], None])
async def test_a_server_that_goes_on_refusing_is_believed(supported: Any) -> None:
    async with modern({"tools/call": Failure(None, -32022, "no", {"supported": supported})}) as (client, _):
        with pytest.raises(McpError, match="no"):
            await client.call_tool("x")


async def test_headers_that_were_wrong_are_learned_anew_and_the_call_is_repeated_once() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    answers = {
        "tools/list": in_turn([complete(tools=[{"name": "x", "inputSchema": schema}], ttlMs=60_000)] * 2),
        "tools/call": in_turn([Failure(None, -32020, "header missing"), text("x"), *[Failure(None, -32020, "no")] * 2]),
    }
    async with modern(answers) as (client, server):
        await client.list_tools()
        await client.call_tool("x", {"region": "nl"})
        server.answers["tools/list"] = complete(tools=[])
        with pytest.raises(McpError, match="no"):
            await client.call_tool("x", {"region": "nl"})
    assert len(server.asked("tools/list")) == 3


async def test_only_the_call_of_a_tool_has_headers_to_learn() -> None:
    async with modern({"prompts/get": Failure(None, -32020, "no")}) as (client, server):
        with pytest.raises(McpError, match="no"):
            await client.get_prompt("p")
    assert len(server.asked("prompts/get")) == 1


@pytest.mark.parametrize(
    ("needed", "named"),
    [
        ({"sampling": {}}, "sampling"),
        ({"sampling": {"tools": {}}, "roots": {}}, "sampling.tools, roots"),
        ({"extensions": {"io.example/x": {}}}, "io.example/x"),
        ({"extensions": {}}, "extensions"),
    ],
)
async def test_a_missing_capability_is_a_sentence(needed: Any, named: str) -> None:
    refusal = Failure(None, -32021, "book needs it", {"requiredCapabilities": needed})
    async with modern({"tools/call": refusal}) as (client, _):
        with pytest.raises(McpError) as caught:
            await client.call_tool("x")
    assert str(caught.value) == (
        f"The server cannot do this without {named}, which is not offered to it: book needs it"
    )
    assert (caught.value.code, caught.value.data) == (-32021, refusal.data)


@pytest.mark.parametrize("data", [None, [], {"requiredCapabilities": ["sampling"]}])
async def test_a_missing_capability_without_a_name_is_the_servers_error(data: Any) -> None:
    async with modern({"tools/call": Failure(None, -32021, "no", data)}) as (client, _):
        with pytest.raises(McpError, match="no"):
            await client.call_tool("x")


# InputRequests before the result.


async def test_all_questions_are_answered_and_the_request_is_sent_again_with_the_state_as_it_came() -> None:
    state = 'v1.{"a": "ü"}\u0000 =='
    question = asks(
        state,
        who=("elicitation/create", FORM),
        draft=("sampling/createMessage", SAMPLE),
        dirs=("roots/list", {}),
    )
    async with modern({"tools/call": in_turn([question, text("done")])}, answer=willing) as (client, server):
        assert (await client.call_tool("x", {"a": 1})).content == (TextContent(text="done"),)
    first, second = (told for told in server.told if isinstance(told, Request) and told.method == "tools/call")
    assert first.id != second.id
    assert second.params == {
        "name": "x",
        "arguments": {"a": 1},
        "inputResponses": {"who": ANA, "draft": SAMPLED, "dirs": ROOTS},
        "requestState": state,
        "_meta": meta(DECLARED),
    }


async def test_each_round_carries_its_own_answers_and_state_and_nothing_of_another() -> None:
    rounds = [
        asks("one", a=("elicitation/create", FORM)),
        asks(None, b=("elicitation/create", FORM)),
        asks("three"),
        asks(""),
        text("done"),
    ]
    async with modern({"tools/call": in_turn(rounds)}, answer=willing) as (client, server):
        await client.call_tool("x")
        server.answers["tools/call"] = text("other")
        await client.call_tool("x")
    assert [without_meta(asked) for asked in server.asked("tools/call")] == [
        {"name": "x", "arguments": {}},
        {"name": "x", "arguments": {}, "inputResponses": {"a": ANA}, "requestState": "one"},
        {"name": "x", "arguments": {}, "inputResponses": {"b": ANA}},
        {"name": "x", "arguments": {}, "requestState": "three"},
        {"name": "x", "arguments": {}, "requestState": ""},
        {"name": "x", "arguments": {}},
    ]


async def test_prompts_and_resources_may_ask_too() -> None:
    question = asks(None, who=("elicitation/create", FORM))
    answers = {
        "prompts/get": in_turn([question, complete(messages=[])]),
        "resources/read": in_turn([question, complete(contents=[], ttlMs=60_000), complete(contents=[])]),
    }
    async with modern(answers, answer=willing) as (client, server):
        await client.get_prompt("p")
        await client.read_resource("a:b")
        await client.read_resource("a:b")
    assert server.asked("prompts/get")[1]["inputResponses"] == {"who": ANA}
    assert len(server.asked("resources/read")) == 3, "what was answered for one is not kept"


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_declined_form_is_an_answer(action: str) -> None:
    async def decline(method: str, params: Any) -> Mapping[str, Any]:
        return {"action": action}

    question = asks(None, who=("elicitation/create", FORM))
    async with modern({"tools/call": in_turn([question, text("ok")])}, answer=decline) as (client, server):
        await client.call_tool("x")
    assert server.asked("tools/call")[1]["inputResponses"] == {"who": {"action": action}}


@pytest.mark.parametrize(("method", "params"), [("sampling/createMessage", SAMPLE), ("roots/list", {})])
async def test_a_refused_input_request_ends_the_call_and_cancels_the_others(method: str, params: Any) -> None:
    withdrawn: list[str] = []

    async def refuse(asked: str, params: Any) -> Mapping[str, Any]:
        if asked == method:
            await anyio.wait_all_tasks_blocked()
            raise McpError(-1, "User rejected it")
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.append(asked)
        return {}

    question = asks("state", who=("elicitation/create", FORM), which=(method, params))
    async with modern({"tools/call": question}, answer=refuse) as (client, server):
        with pytest.raises(InputRefused) as caught:
            await client.call_tool("x")
    assert (
        str(caught.value) == f"The server cannot go on: it asked for {method}, and that was refused: User rejected it"
    )
    assert (withdrawn, len(server.asked("tools/call"))) == (["elicitation/create"], 1)


async def test_what_was_not_declared_is_refused_too() -> None:
    question = asks(None, draft=("sampling/createMessage", SAMPLE))
    async with modern({"tools/call": question}) as (client, _):
        with pytest.raises(InputRefused, match="refused: this client does not offer sampling/createMessage"):
            await client.call_tool("x")


async def test_an_answer_that_breaks_down_ends_the_call_and_nothing_else() -> None:
    async def break_down(method: str, params: Any) -> Mapping[str, Any]:
        raise ZeroDivisionError

    question = asks(None, who=("elicitation/create", FORM))
    async with modern({"tools/call": question}, answer=break_down) as (client, _):
        with pytest.raises(InputRefused, match="refused: Internal error"):
            await client.call_tool("x")
        await client.ping()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"resultType": "input_required"}, "with questions, and asks nothing"),
        ({"resultType": "input_required", "inputRequests": {}}, "with questions, and asks nothing"),
        ({"resultType": "input_required", "requestState": 3}, "with a state that is no text"),
        ({"resultType": "input_required", "inputRequests": []}, "with questions that cannot be read"),
        (asks(None, a=("tools/call", {})), "with a question that may not be asked: tools/call"),
        (asks(None, a=("ping", {})), "with a question that may not be asked: ping"),
        ({"resultType": "input_required", "inputRequests": {"a": 3}}, "with a question that may not be asked: 3"),
    ],
)
async def test_questions_that_are_none_end_the_call(answer: Any, sentence: str) -> None:
    async with modern({"tools/call": answer}, answer=willing) as (client, server):
        with pytest.raises(Unreadable, match=f"The server answered tools/call {sentence}"):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 1


@pytest.mark.parametrize("method", ["tools/list", "completion/complete"])
async def test_no_other_request_may_be_answered_with_questions(method: str) -> None:
    async with modern({method: asks("state")}) as (client, _):
        call = (
            client.list_tools()
            if method == "tools/list"
            else client.complete({"type": "ref/prompt", "name": "p"}, "a", "")
        )
        with pytest.raises(Unreadable, match=f"The server answered {method} with questions, which it may not"):
            await call


async def test_a_server_that_asks_for_ever_is_left_after_ten_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.stateless.FIRST_PAUSE", 0.0)
    async with modern({"tools/call": asks("again")}) as (client, server):
        with pytest.raises(Unreadable, match="with questions 10 times, and never with a result"):
            await client.call_tool("x")
    assert len(server.asked("tools/call")) == 10


async def test_two_calls_at_once_do_not_share_their_state() -> None:
    def answer(params: Mapping[str, Any]) -> Any:
        name = params["name"]
        return text(name) if "requestState" in params else asks(f"state of {name}", who=("elicitation/create", FORM))

    async with modern({"tools/call": answer}, answer=willing) as (client, server), anyio.create_task_group() as tasks:
        for name in ("a", "b"):
            tasks.start_soon(client.call_tool, name)
    states = {asked["name"]: asked["requestState"] for asked in server.asked("tools/call") if "requestState" in asked}
    assert states == {"a": "state of a", "b": "state of b"}


# Hints for keeping results.


async def test_a_list_is_kept_as_long_as_it_says_and_no_longer_than_it_is_true() -> None:
    notices: list[Any] = []
    pages = [complete(tools=[tool(name)], ttlMs=60_000, cacheScope="private") for name in "abc"]
    async with modern({"tools/list": in_turn(pages)}, on_notification=lambda *told: notices.append(told)) as both:
        client, server = both
        for _ in range(2):
            assert [found.name for found in await client.list_tools()] == ["a"]
        await server.say(Notification("notifications/tools/list_changed"))
        await client.ping()
        assert [found.name for found in await client.list_tools()] == ["b"]
    assert notices == [("notifications/tools/list_changed", {})]
    assert len(server.asked("tools/list")) == 2


async def test_every_page_is_kept_by_itself_and_all_are_dropped_with_a_cursor_that_is_void() -> None:
    def listed(params: Mapping[str, Any]) -> Any:
        if "cursor" not in params:
            return complete(tools=[tool("a")], nextCursor="2", ttlMs=60_000)
        return Failure(None, -32602, "no such cursor") if void else complete(tools=[tool("b")], ttlMs=0)

    void = False
    async with modern({"tools/list": listed}) as (client, server):
        for _ in range(2):
            assert [found.name for found in await client.list_tools()] == ["a", "b"]
        assert [asked.get("cursor") for asked in server.asked("tools/list")] == [None, "2", "2"]
        void = True
        with pytest.raises(McpError, match="no such cursor"):
            await client.list_tools()
    assert [asked.get("cursor") for asked in server.asked("tools/list")][3:] == ["2", None, "2"]


async def test_a_resource_is_kept_until_it_changes() -> None:
    read = [complete(contents=[{"uri": "a:b", "text": words}], ttlMs=60_000) for words in ("one", "other", "two")]
    async with modern({"resources/read": in_turn(read)}) as (client, server):
        for uri in ("a:b", "a:b", "a:c"):
            await client.read_resource(uri)
        await server.say(Notification("notifications/resources/updated", {"uri": "a:b/part"}))
        await client.ping()
        assert (await client.read_resource("a:b")).raw["contents"][0]["text"] == "two"
    assert [asked["uri"] for asked in server.asked("resources/read")] == ["a:b", "a:c", "a:b"]


async def test_a_result_that_became_stale_on_its_way_is_not_kept() -> None:
    async with modern({"tools/list": complete(tools=[], ttlMs=60_000)}) as (client, server):
        server.before = (Notification("notifications/tools/list_changed"),)
        await client.list_tools()
        await client.list_tools()
        await client.list_tools()
    assert len(server.asked("tools/list")) == 2


async def test_a_list_that_is_declared_and_unknown_is_empty() -> None:
    async with modern({"prompts/list": Failure(None, METHOD_NOT_FOUND, "no")}) as (client, _):
        assert await client.list_prompts() == []
