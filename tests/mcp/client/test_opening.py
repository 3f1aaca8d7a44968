from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp.client.client import Client
from agent.mcp.client.opening import key_of
from agent.mcp.envelope import Channel, Closed, ConnectionLost, Envelope
from agent.mcp.errors import McpError
from agent.mcp.exchange import Unreachable
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Failure, Message, Notification, Request
from agent.mcp.lifecycle import HandshakeFailed
from agent.mcp.transports.http_client import http
from agent.mcp.transports.memory import MemoryChannel, memory
from agent.mcp.transports.stdio import stdio
from tests.mcp.foreign_server import ForeignServer, connected, initialized, tool
from tests.mcp.modern_server import REVISION, complete, discovered, in_turn, meta

pytestmark = pytest.mark.anyio

UNSUPPORTED = -32022
MODERN_ONLY = Failure(None, UNSUPPORTED, "no handshake here", {"supported": [REVISION]})


def methods(server: ForeignServer) -> list[str]:
    return [told.method for told in server.told if isinstance(told, Request | Notification)]


# The first question, and what its answer leads to.


async def test_a_server_of_the_stateless_era_is_asked_what_it_is_and_nothing_else() -> None:
    server = ForeignServer({"server/discover": discovered(instructions="Be kind.")})
    async with connected(server) as client:
        assert (client.revision, client.server_info.name, client.instructions) == (REVISION, "modern", "Be kind.")
        assert client.capabilities.tools is not None
    assert server.told == [Request(1, "server/discover", {"_meta": meta()})]


@pytest.mark.parametrize(
    "answer",
    [
        Failure(None, METHOD_NOT_FOUND, "unknown"),
        Failure(None, INVALID_PARAMS, "initialize first"),
        Failure(None, -32000, "Server not initialized"),
        Failure(None, -32004, "old codes are no evidence", {"supported": [REVISION]}),
        {},
        [],
        "hello",
        {"tools": []},
        discovered("2025-11-25", "2025-06-18"),
        Failure(None, UNSUPPORTED, "handshake only", {"supported": ["2025-11-25"]}),
    ],
)
async def test_any_other_answer_leads_to_the_handshake(answer: Any) -> None:
    server = ForeignServer({"server/discover": answer, "initialize": initialized("2025-06-18", tools={})})
    async with connected(server) as client:
        assert client.revision == "2025-06-18"
        await client.ping()
    assert methods(server) == ["server/discover", "initialize", "notifications/initialized", "ping"]


class Breaking(ForeignServer):
    """The first request ends with an error of the transport."""

    def __init__(self, error: ConnectionLost) -> None:
        super().__init__({})
        self._error = error

    async def say(self, *messages: Message) -> None:
        if any(isinstance(message, Failure) and message.id == 1 for message in messages):
            assert isinstance(self.channel, MemoryChannel)
            await self.channel._outgoing.send(Closed(1, self._error))
        else:
            await super().say(*messages)


async def test_an_answer_of_the_transport_leads_to_the_handshake_whatever_caused_it() -> None:
    error = ConnectionLost("It was no answer.")
    error.__cause__ = ValueError("no JSON")
    async with connected(Breaking(error)) as client:
        assert client.revision == "2025-11-25"


async def test_no_answer_at_all_shows_no_era() -> None:
    server = Breaking(Unreachable("Nobody is there."))
    with pytest.raises(Unreachable, match="Nobody is there"):
        async with connected(server):
            pass
    assert server.told == []


async def test_a_server_that_wants_to_be_asked_in_another_revision_is_asked_again() -> None:
    refusal = Failure(None, UNSUPPORTED, "no", {"supported": [REVISION, "2025-11-25"]})
    server = ForeignServer({"server/discover": in_turn([refusal, discovered()])})
    async with connected(server) as client:
        assert client.revision == REVISION
    assert methods(server) == ["server/discover"] * 2


async def test_a_server_that_refuses_what_it_asked_for_is_not_asked_for_ever() -> None:
    refusal = Failure(None, UNSUPPORTED, "no", {"supported": [REVISION]})
    server = ForeignServer({"server/discover": refusal, "initialize": refusal})
    with pytest.raises(McpError, match="no"):
        async with connected(server):
            pass
    assert methods(server).count("server/discover") == 4


async def test_one_with_no_revision_of_ours_is_a_sentence() -> None:
    with pytest.raises(HandshakeFailed, match="The server speaks protocol version 2030-01-01; this program speaks"):
        async with connected(ForeignServer({"server/discover": discovered("2030-01-01")})):
            pass


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_a_server_that_misses_something_in_the_question_belongs_to_the_stateless_era(code: int) -> None:
    server = ForeignServer({"server/discover": Failure(None, code, "no"), "tools/list": complete(tools=[tool("x")])})
    async with connected(server) as client:
        assert client.revision == REVISION
        assert [found.name for found in await client.list_tools()] == ["x"]
        assert await client.list_prompts() == []


async def test_a_server_that_knows_neither_the_question_nor_the_handshake_speaks_without() -> None:
    unknown = Failure(None, METHOD_NOT_FOUND, "unknown")
    server = ForeignServer({"server/discover": unknown, "initialize": unknown, "tools/list": complete(tools=[])})
    async with connected(server) as client:
        assert client.revision == REVISION
        assert await client.list_tools() == []


# Servers that are slow, or silent.


class Slow(ForeignServer):
    """Keeps quiet about some methods until `speak` is called."""

    quiet = ("server/discover",)

    async def serve(self, channel: Channel, /) -> None:
        self.channel, self.kept = channel, []
        async for item in channel:
            for message in item.messages:
                self.told.append(message)
                if isinstance(message, Request) and message.method in self.quiet:
                    self.kept.append(message)
                elif isinstance(message, Request):
                    await self.say(self._answer(message))
                    await self.after(message)

    async def after(self, message: Request) -> None:
        """For those who have more to say."""


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.opening.SILENCE_SECONDS", 0.02)
    monkeypatch.setattr("agent.mcp.client.opening.PROBE_SECONDS", 0.02)


@pytest.mark.usefixtures("_impatient")
async def test_silence_leads_to_the_handshake() -> None:
    server = Slow({})
    async with connected(server) as client:
        assert client.revision == "2025-11-25"
        await client.ping()
    assert methods(server) == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "ping",
    ]


async def test_after_the_first_sign_of_life_the_wait_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.opening.PROBE_SECONDS", 0.02)

    class Chatty(Slow):
        async def serve(self, channel: Channel, /) -> None:
            await channel.send(Envelope((Notification("notifications/message", {"level": "info", "data": "hi"}),)))
            await super().serve(channel)

    with anyio.fail_after(4):
        async with Client(memory(Chatty({}))) as client:
            assert client.revision == "2025-11-25"


async def test_a_caller_in_a_hurry_leaves_half_of_its_time_for_the_handshake() -> None:
    with anyio.fail_after(0.4):
        async with Client(memory(Slow({}))) as client:
            assert client.revision == "2025-11-25"


@pytest.mark.usefixtures("_impatient")
async def test_the_answer_to_the_probe_may_come_before_that_to_the_handshake() -> None:
    class Late(Slow):
        quiet = ("server/discover", "initialize")

        async def serve(self, channel: Channel, /) -> None:
            self.channel, asked = channel, []
            async for item in channel:
                self.told += item.messages
                asked += item.messages
                if len(asked) == 2:
                    await self.say(*(self._answer(message) for message in asked))

    server = Late({"server/discover": discovered(), "initialize": MODERN_ONLY})
    async with connected(server) as client:
        assert client.revision == REVISION
    assert methods(server) == ["server/discover", "initialize"]


@pytest.mark.usefixtures("_impatient")
async def test_a_slow_server_that_refuses_the_handshake_is_probed_once_more() -> None:
    class Once(Slow):
        async def after(self, message: Request) -> None:
            self.quiet = ()

    server = Once({"server/discover": discovered(), "initialize": MODERN_ONLY})
    async with connected(server) as client:
        assert client.revision == REVISION
    assert methods(server)[:3] == ["server/discover", "initialize", "server/discover"]


# One revision that is asked for.


async def test_a_pinned_revision_of_the_handshake_is_offered_at_once() -> None:
    server = ForeignServer({"server/discover": discovered(), "initialize": initialized("2025-03-26")})
    async with connected(server, protocol="2025-03-26") as client:
        assert client.revision == "2025-03-26"
    assert server.asked("initialize")[0]["protocolVersion"] == "2025-03-26"
    assert methods(server) == ["initialize", "notifications/initialized"]


async def test_a_server_that_answers_with_another_than_the_pinned_one_is_left() -> None:
    with pytest.raises(HandshakeFailed) as caught:
        async with connected(ForeignServer({}), protocol="2025-03-26"):
            pass
    assert str(caught.value) == "The server speaks protocol version 2025-11-25, and 2025-03-26 was asked for."


async def test_a_refused_pinned_revision_is_not_replaced_by_an_older_one() -> None:
    server = ForeignServer({"initialize": Failure(None, INVALID_PARAMS, "unsupported version")})
    with pytest.raises(McpError, match="unsupported version"):
        async with connected(server, protocol="2025-11-25"):
            pass
    assert len(server.asked("initialize")) == 1


async def test_a_pinned_stateless_era_needs_no_discovery() -> None:
    server = ForeignServer({"tools/list": complete(tools=[tool("x")])})
    async with connected(server, protocol=REVISION) as client:
        assert client.revision == REVISION
        assert [found.name for found in await client.list_tools()] == ["x"]


async def test_a_pinned_stateless_era_that_is_not_there_is_a_sentence() -> None:
    server = ForeignServer({"server/discover": Failure(None, -32000, "Server not initialized")})
    with pytest.raises(HandshakeFailed) as caught:
        async with connected(server, protocol=REVISION):
            pass
    assert str(caught.value) == "The server does not speak protocol version 2026-07-28, which was asked for."


def test_an_unknown_revision_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match=r"protocol must be 'auto' or one of 2024-11-05, .* not 'latest'"):
        Client(memory(ForeignServer({})), protocol="latest")


# What is remembered.


class Remembering:
    """A transport with a key, to a server in this process that is made anew each time."""

    def __init__(self, *servers: ForeignServer) -> None:
        self.key, self.servers = "python server.py", list(servers)

    async def __aenter__(self) -> Channel:
        self._open = memory(self.servers.pop(0))
        return await self._open.__aenter__()

    async def __aexit__(self, *left: Any) -> Any:
        return await self._open.__aexit__(*left)


class Verdicts(dict[str, str]):
    set = dict.__setitem__


async def revision_of(transport: Remembering, verdicts: Verdicts) -> str:
    with anyio.fail_after(5):
        async with Client(transport, verdicts=verdicts) as client:
            return client.revision


async def test_a_verdict_is_remembered_and_is_where_the_next_time_begins() -> None:
    first, second = ForeignServer({}), ForeignServer({"server/discover": Failure(None, METHOD_NOT_FOUND, "no")})
    verdicts = Verdicts()
    assert await revision_of(Remembering(first), verdicts) == "2025-11-25"
    assert verdicts == {"python server.py": "2025-11-25"}
    assert await revision_of(Remembering(second), verdicts) == "2025-11-25"
    assert methods(second) == ["initialize", "notifications/initialized"]


@pytest.mark.parametrize("refusal", [MODERN_ONLY, Failure(None, METHOD_NOT_FOUND, "unknown"), "nonsense"])
async def test_a_wrong_verdict_for_the_handshake_is_found_out(refusal: Any) -> None:
    verdicts = Verdicts({"python server.py": "2025-06-18"})
    server = ForeignServer({"server/discover": discovered(), "initialize": refusal})
    assert await revision_of(Remembering(server), verdicts) == REVISION
    assert verdicts == {"python server.py": REVISION}


async def test_a_wrong_verdict_for_the_stateless_era_is_found_out() -> None:
    verdicts = Verdicts({"python server.py": REVISION})
    assert await revision_of(Remembering(ForeignServer({})), verdicts) == "2025-11-25"
    assert verdicts == {"python server.py": "2025-11-25"}


class Leaver(ForeignServer):
    """Goes away over a method that it does not know."""

    def __init__(self, bane: str, answers: Any) -> None:
        super().__init__(answers)
        self.bane = bane

    async def serve(self, channel: Channel, /) -> None:
        self.channel = channel
        async for item in channel:
            self.told += item.messages
            for message in item.messages:
                if isinstance(message, Request):
                    if message.method == self.bane:
                        return
                    await self.say(self._answer(message))


async def test_a_server_that_leaves_over_the_probe_is_started_once_more_and_hears_the_handshake_first() -> None:
    first, second = Leaver("server/discover", {}), Leaver("server/discover", {})
    assert await revision_of(Remembering(first, second), Verdicts()) == "2025-11-25"
    assert (methods(first), methods(second)) == (
        ["server/discover"],
        ["initialize", "notifications/initialized"],
    )


async def test_a_server_of_the_stateless_era_that_leaves_over_a_remembered_handshake_is_started_once_more() -> None:
    verdicts = Verdicts({"python server.py": "2025-11-25"})
    servers = [Leaver("initialize", {"server/discover": discovered()}) for _ in range(2)]
    assert await revision_of(Remembering(*servers), verdicts) == REVISION
    assert [methods(server) for server in servers] == [["initialize"], ["server/discover"]]


async def test_a_server_that_leaves_twice_is_gone() -> None:
    transport = Remembering(*(Leaver(bane, {}) for bane in ("server/discover", "initialize")), ForeignServer({}))
    with pytest.raises(ConnectionLost):
        await revision_of(transport, Verdicts())
    assert len(transport.servers) == 1


async def test_a_transport_that_cannot_be_entered_again_is_not() -> None:
    with pytest.raises(ConnectionLost):
        async with connected(Leaver("server/discover", {})):
            pass


# Processes.

PROCESS = """
import json, sys
INITIALIZED = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
def say(**message):
    print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)
print("started", file=sys.stderr)
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message["method"]
    if method == "initialize":
        say(id=id, result=INITIALIZED)
    elif method == "tools/call":
        say(id=id, result={"content": [{"type": "text", "text": json.dumps(message["params"].get("_meta") is None)}]})
    elif method == "server/discover":
        PROBED
"""
LEGACY_PROCESSES = {
    "exits": "sys.exit(1)",
    "exits in order": "break",
    "answers with an error": "say(id=id, error={'code': -32601, 'message': 'no'})",
    "answers without an id": "say(id=None, error={'code': -32600, 'message': 'no'})",
    "prints garbage": "print('Traceback (most recent call last):', flush=True)",
    "answers with nothing": "say(id=id, result=None)",
    "answers in another protocol": "say(id=id, result={}, jsonrpc='1.0')",
    "lists the handshake": "say(id=id, result={'supportedVersions': ['2025-06-18'], 'capabilities': {}})",
}


def process(probed: str) -> list[str]:
    return [sys.executable, "-c", PROCESS.replace("PROBED", probed)]


@pytest.mark.parametrize("probed", LEGACY_PROCESSES.values(), ids=LEGACY_PROCESSES.keys())
async def test_a_process_of_the_handshake_era_may_do_anything_with_a_probe(probed: str) -> None:
    with anyio.fail_after(15):
        async with Client(stdio(process(probed))) as client:
            assert client.revision == "2025-06-18"
            assert (await client.call_tool("x")).content == (TextContent(text="true"),)


async def test_a_process_of_the_stateless_era_is_spoken_to_without_a_handshake() -> None:
    probed = f"say(id=id, result={discovered()!r})"
    with anyio.fail_after(15):
        async with Client(stdio(process(probed))) as client:
            assert client.revision == REVISION
            assert (await client.call_tool("x")).content == (TextContent(text="false"),)


async def test_a_process_that_cannot_begin_says_why_at_the_second_attempt() -> None:
    transport = stdio([sys.executable, "-c", "import sys; sys.exit('no config file')"])
    ended = r"exited with code 1 before it answered anything.*\n.*no config file"
    with anyio.fail_after(15), pytest.raises(ConnectionLost, match=ended):
        async with Client(transport):
            pass


def test_a_server_is_known_by_its_command_line_or_its_origin() -> None:
    assert key_of(stdio(["python3", "my server.py"])) == "python3 'my server.py'"
    assert key_of(http("https://Example.com:443/mcp?key=secret")) == "https://example.com"
    assert key_of(memory(ForeignServer({}))) == ""
