from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
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
from agent.mcp.client import Client
from agent.mcp.envelope import ConnectionLost, Garbled
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, Notification, Request, Result
from agent.mcp.lifecycle import HandshakeFailed, NotOffered
from agent.mcp.session import McpError, Unreadable
from agent.mcp.transports.memory import MemoryChannel, memory
from tests.mcp.foreign_server import ForeignServer, initialized

pytestmark = pytest.mark.anyio

ALL = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}, "completions": {}}
EVERYTHING = initialized(**ALL)


@asynccontextmanager
async def connected(server: ForeignServer, **more: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(5):
        async with Client(memory(server), **more) as client:
            yield client


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


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
        Request(1, "initialize", offer),
        Notification("notifications/initialized"),
        Request(2, "ping"),
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
    monkeypatch.setattr("agent.mcp.client.PAGES", 3)

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
    notes = (Notification("notifications/progress", {"progressToken": 2} | params) for params in told)
    stray = Notification("notifications/progress", {"progressToken": "nobody", "progress": 9})
    async with connected(server) as client:
        server.before = (*notes, stray)
        await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert server.asked("tools/call") == [{"name": "x", "arguments": {}, "_meta": {"progressToken": 2}}]
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


# What the server wants.


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
async def test_a_wish_is_served_if_it_was_declared(capabilities: Any, method: str, params: Any, answer: Any) -> None:
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


async def test_a_withdrawn_wish_is_cancelled_and_not_answered() -> None:
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


# Trouble.


class Crier(ForeignServer):
    """Puts raw items into the client's channel before its first answer."""

    def __init__(self, *items: Any) -> None:
        super().__init__({})
        self.items = items

    async def say(self, *messages: Any) -> None:
        assert isinstance(self.channel, MemoryChannel)
        for item in self.items:
            await self.channel._outgoing.send(item)
        self.items = ()
        await super().say(*messages)


async def test_noise_is_noticed_once_for_each_kind() -> None:
    notices: list[str] = []
    items = [Garbled(-32700, "not JSON", f"line {n}") for n in range(50)]
    items += [Garbled(-32600, "it is longer than the limit of 9 bytes", "xxx", 77, "answer", lost=True)] * 2
    items += [Garbled(-32600, "not a JSON-RPC 2.0 message", '{"id":77,"result":1}', 77, "answer")] * 2
    async with connected(Crier(*items), on_notice=notices.append) as client:
        await client.ping()
    assert notices == [
        "The server prints on stdout what is no message, as in 'line 0'; that was skipped.",
        "A message of the server was dropped: it is longer than the limit of 9 bytes.",
        'The server sent a message that cannot be read (not a JSON-RPC 2.0 message): \'{"id":77,"result":1}\'.',
    ]


async def test_errors_that_belong_to_nothing_are_shown_with_the_servers_words() -> None:
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING})
    async with connected(server, on_notice=notices.append) as client:
        await server.say(Failure(None, METHOD_NOT_FOUND, "Method not found: initialized"), Result(0, {}))
        await client.ping()
        for n in range(40):
            await server.say(Failure(None, METHOD_NOT_FOUND, f"trouble {n}"))
        await client.ping()
    assert notices[:3] == [
        "The server reports an error that belongs to no request: Method not found: initialized (code -32601).",
        "The server answered a request that is not open (id 0).",
        "The server reports an error that belongs to no request: trouble 0 (code -32601).",
    ]
    assert len(notices) == 20


async def test_trouble_without_anyone_to_tell_is_no_trouble() -> None:
    server = ForeignServer({})
    async with connected(server) as client:
        await server.say(Result(0, {}), Notification("notifications/message", {"level": "info", "data": "x"}))
        await client.ping()


async def test_a_call_whose_answer_cannot_be_read_fails_and_others_go_on() -> None:
    lost = Garbled(-32600, "it is longer than the limit of 9 bytes", "{", 2, "answer", lost=True)
    server = Crier()
    async with connected(server) as client:
        server.items = (lost,)
        with pytest.raises(Unreadable, match="could not be read: it is longer than the limit of 9 bytes"):
            await client.ping()
        await client.ping()


async def test_a_cancelled_call_is_withdrawn_and_its_late_answer_dropped() -> None:
    notices: list[str] = []
    server = ForeignServer({"initialize": EVERYTHING})
    async with connected(server, on_notice=notices.append) as client:
        server._answer = lambda request: Notification("silence")  # type: ignore[method-assign]
        with anyio.move_on_after(0.01):
            await client.call_tool("slow")
        del server._answer  # type: ignore[method-assign]
        await server.say(Result(2, {"content": []}), Result(2, {"content": []}))
        await client.ping()
    assert server.asked("notifications/cancelled") == [{"requestId": 2, "reason": "the caller no longer waits"}]
    assert notices == []


async def test_after_the_loss_every_call_says_so() -> None:
    class Leaver(ForeignServer):
        async def serve(self, channel: Any, /) -> None:
            self.channel = channel
            await self.say(self._answer((await channel.receive()).messages[0]))

    async with connected(Leaver({})) as client:
        for _ in range(2):
            with pytest.raises(ConnectionLost, match=r"The connection is closed\."):
                await client.ping()
