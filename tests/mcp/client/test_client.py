from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import pytest
from mcp_types import (
    Completion,
    Implementation,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    ServerCapabilities,
    TextContent,
    Tool,
    ToolsCapability,
)

from agent import __version__
from agent.mcp.client.client import Client
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, Failure, Notification, Request
from agent.mcp.lifecycle import HandshakeFailed, NotOffered
from agent.mcp.transports.memory import memory
from tests.mcp.foreign_server import ForeignServer, connected, initialized, tool

pytestmark = pytest.mark.anyio

ALL = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}, "completions": {}}
EVERYTHING = initialized(**ALL)


# The handshake.


async def test_entering_shakes_hands_and_says_so() -> None:
    server = ForeignServer({"initialize": initialized(tools={"listChanged": True}) | {"instructions": "Be kind."}})
    async with connected(server) as client:
        assert client.revision == "2025-11-25"
        assert client.server_info == Implementation(name="foreign", version="0")
        assert client.capabilities == ServerCapabilities(tools=ToolsCapability(list_changed=True))
        assert client.instructions == "Be kind."
        await client.ping()
    offer = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "mcp-chat", "version": __version__},
    }
    assert server.told == [
        Request(2, "initialize", offer),
        Notification("notifications/initialized"),
        Request(3, "ping"),
    ]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_revision_of_the_handshake_is_accepted(revision: str) -> None:
    server = ForeignServer({"initialize": initialized(revision, tools={}), "tools/call": {"content": []}})
    async with connected(server) as client:
        assert client.revision == revision
        assert (await client.call_tool("x")).content == ()


@pytest.mark.parametrize("revision", ["1999-01-01", "2026-07-28", "banana", 3])
async def test_an_unknown_revision_is_named_beside_ours(revision: Any) -> None:
    server = ForeignServer({"initialize": initialized(revision)})
    with pytest.raises(HandshakeFailed) as caught:
        async with connected(server):
            pass
    assert str(caught.value) == (
        f"The server answered with protocol version {revision!r}; "
        "this program speaks 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25."
    )


@pytest.mark.parametrize("answer", [{}, None, [], "yes", {"capabilities": {}}])
async def test_an_answer_without_a_revision_is_a_sentence(answer: Any) -> None:
    with pytest.raises(ConnectionLost, match="answered without a protocol version; this program speaks 2024-11-05"):
        async with connected(ForeignServer({"initialize": answer})):
            pass


@pytest.mark.parametrize(
    "refusal",
    [
        Failure(None, INVALID_PARAMS, "Unsupported protocol version", {"supported": ["2024-11-05", "2025-06-18"]}),
        Failure(None, -32000, "Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2024-11-05)"),
    ],
)
async def test_a_refused_offer_is_followed_by_one_the_server_named(refusal: Failure) -> None:
    def initialize(params: Mapping[str, Any]) -> Any:
        return initialized("2025-06-18") if params["protocolVersion"] == "2025-06-18" else refusal

    server = ForeignServer({"initialize": initialize})
    async with connected(server) as client:
        assert client.revision == "2025-06-18"
    assert [params["protocolVersion"] for params in server.asked("initialize")] == ["2025-11-25", "2025-06-18"]


async def test_a_server_that_names_nothing_is_offered_the_next_older_until_none_is_left() -> None:
    server = ForeignServer({"initialize": Failure(None, INVALID_PARAMS, "unsupported version")})
    with pytest.raises(HandshakeFailed) as caught:
        async with connected(server):
            pass
    offered = "2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
    assert str(caught.value) == f"The server refused protocol version {offered}: unsupported version"
    assert len(server.asked("initialize")) == 4


async def test_any_other_refusal_is_the_servers_error() -> None:
    with pytest.raises(McpError) as caught:
        async with connected(ForeignServer({"initialize": Failure(None, -32000, "not today")})):
            pass
    assert (caught.value.code, caught.value.message) == (-32000, "not today")


async def test_unknown_notifications_before_the_first_answer_are_no_matter() -> None:
    heard: list[Any] = []
    before = (Notification("window/logMessage", {"type": 3, "message": "hello"}), Notification("x"))
    server = ForeignServer({}, before)
    async with connected(server, on_notification=lambda *told: heard.append(told)) as client:
        await client.ping()
    assert heard == [("window/logMessage", {"type": 3, "message": "hello"}), ("x", {})]


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with connected(ForeignServer({})):
            raise ZeroDivisionError


async def test_a_server_that_leaves_before_answering_is_lost() -> None:
    class Leaver:
        async def serve(self, channel: Any, /) -> None:
            await channel.receive()

    with anyio.fail_after(5), pytest.raises(ConnectionLost):
        async with Client(memory(Leaver())):
            pass


# Lists.


async def test_all_pages_are_read_with_the_cursors_as_they_came() -> None:
    pages = {None: (0, 40, "eyJvIjo0MH0="), "eyJvIjo0MH0=": (40, 80, ""), "": (80, 101, None)}

    def listed(params: Mapping[str, Any]) -> Any:
        start, end, cursor = pages[params.get("cursor")]
        return {"tools": [tool(f"t{n}") for n in range(start, end)]} | (
            {} if cursor is None else {"nextCursor": cursor}
        )

    async with connected(ForeignServer({"tools/list": listed})) as client:
        assert [found.name for found in await client.list_tools()] == [f"t{n}" for n in range(101)]


@pytest.mark.parametrize("cursor", ["8", ""])
async def test_a_cursor_that_comes_back_ends_the_list_with_one_notice(cursor: str) -> None:
    notices: list[str] = []
    server = ForeignServer({"tools/list": {"tools": [tool("a")], "nextCursor": cursor}})
    async with connected(server, on_notice=notices.append) as client:
        assert [found.name for found in await client.list_tools()] == ["a"]
    assert server.asked("tools/list") == [None, {"cursor": cursor}]
    assert notices == ["The pages of tools/list come to no end; 2 were read."]


async def test_pages_without_end_are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.pages.PAGES", 3)

    def listed(params: Mapping[str, Any]) -> Any:
        return {"tools": [], "nextCursor": params.get("cursor", "") + "x"}

    server = ForeignServer({"tools/list": listed})
    async with connected(server) as client:
        assert await client.list_tools() == []
    assert len(server.asked("tools/list")) == 3


async def test_every_kind_of_list_is_read() -> None:
    server = ForeignServer(
        {
            "initialize": EVERYTHING,
            "tools/list": {"tools": [tool("t")]},
            "resources/list": {"resources": [{"uri": "a:b", "name": "r"}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "rt"}]},
            "prompts/list": {"prompts": [{"name": "p", "arguments": [{"name": "x", "required": True}]}]},
        }
    )
    async with connected(server) as client:
        assert await client.list_tools() == [Tool(name="t", input_schema={"type": "object"})]
        assert await client.list_resources() == [Resource(uri="a:b", name="r")]
        assert await client.list_resource_templates() == [ResourceTemplate(uri_template="a:{b}", name="rt")]
        assert await client.list_prompts() == [Prompt(name="p", arguments=[PromptArgument(name="x", required=True)])]


async def test_what_the_server_did_not_declare_is_not_asked_for() -> None:
    server = ForeignServer({"initialize": initialized(tools={}), "tools/list": {"tools": []}})
    async with connected(server) as client:
        assert await client.list_resources() == await client.list_resource_templates() == []
        assert await client.list_prompts() == await client.list_tools() == []
        for call in (
            client.read_resource("a:b"),
            client.get_prompt("p"),
            client.complete({"type": "ref/prompt", "name": "p"}, "x", ""),
            client.set_logging_level("info"),
            client.subscribe("a:b"),
            client.unsubscribe("a:b"),
        ):
            with pytest.raises(NotOffered, match="The server does not offer "):
                await call
    assert [message.method for message in server.told if isinstance(message, Request)] == ["initialize", "tools/list"]


async def test_a_list_that_was_declared_and_is_not_there_is_empty_with_a_notice() -> None:
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING, "resources/list": {"resources": [{"uri": "a:b", "name": "r"}]}})
    async with connected(server, on_notice=notices.append) as client:
        assert [found.uri for found in await client.list_resources()] == ["a:b"]
        assert await client.list_resource_templates() == []
    assert notices == ["The server declared more than it has: it does not know resources/templates/list."]


async def test_any_other_error_of_a_list_is_raised() -> None:
    with pytest.raises(McpError, match="no such cursor"):
        async with connected(ForeignServer({"tools/list": Failure(None, INVALID_PARAMS, "no such cursor")})) as client:
            await client.list_tools()


# Calls.


async def test_a_tool_is_called_and_its_result_read() -> None:
    answer = {"content": [{"type": "text", "text": "8"}], "structuredContent": {"result": 8}, "isError": None}
    server = ForeignServer({"tools/call": answer})
    async with connected(server) as client:
        result = await client.call_tool("add", {"a": 3, "b": 5})
        await client.call_tool("now")
    assert result.content == (TextContent(text="8"),)
    assert (result.structured_content, result.is_error, result.raw) == ({"result": 8}, False, answer)
    assert server.asked("tools/call") == [
        {"name": "add", "arguments": {"a": 3, "b": 5}},
        {"name": "now", "arguments": {}},
    ]


async def test_an_error_of_the_server_keeps_code_text_and_data() -> None:
    refusal = Failure(None, -32000, "Tool invocation failed", {"why": "timeout upstream"})
    with pytest.raises(McpError) as caught:
        async with connected(ForeignServer({"tools/call": refusal})) as client:
            await client.call_tool("x")
    error = caught.value
    assert (error.code, error.message, error.data) == (-32000, "Tool invocation failed", {"why": "timeout upstream"})


async def test_progress_is_reported_while_a_call_runs() -> None:
    told = [{"progress": 1, "total": 3, "message": "one"}, {"progress": 2.5}, {"progress": "half"}, {"total": 3}]
    reports: list[Any] = []

    server = ForeignServer({"tools/call": {"content": []}})
    notes = (Notification("notifications/progress", {"progressToken": 3} | params) for params in told)
    stray = Notification("notifications/progress", {"progressToken": "nobody", "progress": 9})
    async with connected(server) as client:
        server.before = (*notes, stray)
        await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert server.asked("tools/call") == [{"name": "x", "arguments": {}, "_meta": {"progressToken": 3}}]
    assert reports == [(1, 3, "one"), (2.5, None, "")]


async def test_a_resource_is_read() -> None:
    contents = [{"uri": "a:b", "mimeType": None, "text": "hi"}, {"uri": "a:c", "blob": "AAEC"}, {"uri": "a:d"}]
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING, "resources/read": {"contents": contents}})
    async with connected(server, on_notice=notices.append) as client:
        result = await client.read_resource("a:b")
    assert [item.uri for item in result.contents] == ["a:b", "a:c"]
    assert notices == ["A part of the resource was left out: text: Field required."]
    assert server.asked("resources/read") == [{"uri": "a:b"}]


async def test_a_prompt_is_filled_in() -> None:
    messages = [{"role": "user", "content": {"type": "text", "text": "hi"}}]
    server = ForeignServer({"initialize": EVERYTHING, "prompts/get": {"description": "d", "messages": messages}})
    async with connected(server) as client:
        result = await client.get_prompt("p", {"x": "1"})
        await client.get_prompt("p")
    assert (result.description, [(m.role, m.content) for m in result.messages]) == (
        "d",
        [("user", TextContent(text="hi"))],
    )
    assert server.asked("prompts/get") == [{"name": "p", "arguments": {"x": "1"}}, {"name": "p"}]


@pytest.mark.parametrize(("revision", "context"), [("2025-06-18", {"arguments": {"y": "2"}}), ("2025-03-26", None)])
async def test_completion_sends_what_is_resolved_where_the_revision_has_it(revision: str, context: Any) -> None:
    answer = {"completion": {"values": ["ab"], "total": 1}}
    server = ForeignServer({"initialize": initialized(revision, completions={}), "completion/complete": answer})
    ref = {"type": "ref/prompt", "name": "p"}
    async with connected(server) as client:
        assert await client.complete(ref, "x", "a", {"y": "2"}) == Completion(values=["ab"], total=1)
    expected = {"ref": ref, "argument": {"name": "x", "value": "a"}} | ({"context": context} if context else {})
    assert server.asked("completion/complete") == [expected]


async def test_the_small_calls_say_what_they_mean() -> None:
    methods = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
    server = ForeignServer({"initialize": EVERYTHING, "ping": []} | {method: {} for method in methods})
    async with connected(server) as client:
        await client.ping()
        await client.set_logging_level("warning")
        await client.subscribe("a:b")
        await client.unsubscribe("a:b")
    assert [server.asked(method) for method in methods] == [[{"level": "warning"}], [{"uri": "a:b"}], [{"uri": "a:b"}]]


# What is refused before anything is sent.


async def hears(*_: Any) -> None: ...


class Hearing:
    async def __call__(self, *_: Any) -> None: ...


@pytest.mark.parametrize("name", ["on_notification", "on_notice", "on_deprecated"])
@pytest.mark.parametrize("callback", [hears, Hearing(), partial(hears, 1)])
def test_a_callback_that_nobody_would_await_is_refused_at_once(name: str, callback: Any) -> None:
    with pytest.raises(TypeError, match=r"^(hears|Hearing|partial) is an async function, which nobody would await"):
        Client(memory(ForeignServer({})), **{name: callback})


async def test_progress_that_nobody_would_await_is_refused_at_once() -> None:
    server = ForeignServer({})
    async with connected(server) as client:
        with pytest.raises(TypeError, match=r"^hears is an async function, which nobody would await"):
            await client.call_tool("x", progress=hears)  # type: ignore[arg-type]
    assert server.asked("tools/call") == []


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "hold NaN or an infinite number"),
        ({"a": [1, (float("inf"),)]}, "hold NaN or an infinite number"),
        (nested(100_000), "are nested too deeply for JSON"),
    ],
)
async def test_arguments_that_json_has_no_words_for_are_not_sent(value: Any, words: str) -> None:
    server = ForeignServer({})
    async with connected(server) as client:
        with pytest.raises(ValueError, match=f"^The arguments for x {words}"):
            await client.call_tool("x", {"value": value})
    assert server.asked("tools/call") == []


async def test_a_lone_surrogate_in_an_argument_is_sent_as_a_question_mark() -> None:
    server = ForeignServer({"tools/call": {"content": []}})
    async with connected(server) as client:
        await client.call_tool("x", {"word": "caf\udce9"})
    assert server.asked("tools/call") == [{"name": "x", "arguments": {"word": "caf?"}}]


# Entering and leaving.


async def test_a_client_may_be_entered_again_but_not_twice_at_once() -> None:
    server = ForeignServer({})
    client = Client(memory(server))
    with anyio.fail_after(5):
        for _ in range(2):
            async with client:
                with pytest.raises(RuntimeError, match=r"^This client is connected already; make another Client"):
                    await client.__aenter__()
                await client.ping()
    assert len(server.asked("initialize")) == 2


async def test_a_client_that_could_not_connect_may_try_again() -> None:
    server = ForeignServer({"initialize": initialized("banana")})
    client = Client(memory(server))
    with anyio.fail_after(5):
        with pytest.raises(HandshakeFailed):
            await client.__aenter__()
        server.answers["initialize"] = initialized()
        async with client:
            await client.ping()
