"""Our client over HTTP: how it finds out what a server speaks, and what its requests say in their headers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types import TextContent

from agent.mcp.client.client import Client
from agent.mcp.envelope import ConnectionLost
from agent.mcp.exchange import Unauthorized
from agent.mcp.jsonrpc import Failure, Notification, Request, Result, encode
from agent.mcp.transports.http_client import http
from tests.mcp.bridge import bridge
from tests.mcp.foreign_server import initialized
from tests.mcp.modern_server import META, REVISION, complete, discovered, text
from tests.mcp.scripted_http import ACCEPTED, URL, Reply, Scripted, Seen, event, events

pytestmark = pytest.mark.anyio

Answers = dict[str, Any]


def reply(seen: Seen, answer: Any) -> Reply:
    """An answer as an HTTP server gives it: a Reply as it is, a Failure with the status of the stateless era."""
    if isinstance(answer, Reply):
        return answer
    message = seen.message
    assert isinstance(message, Request)
    if isinstance(answer, Failure):
        status = {-32601: 404}.get(answer.code, 400)
        return Reply(status, body=encode(Failure(message.id, answer.code, answer.message, answer.data)))
    return Reply(body=encode(Result(message.id, answer)))


def serving(answers: Answers) -> Callable[[Seen], Reply]:
    def serve(seen: Seen) -> Reply:
        if seen.method != "POST":
            return Reply(405, None)
        message = seen.message
        if not isinstance(message, Request):
            return ACCEPTED
        answer = answers.get(message.method, Failure(None, -32601, f"unknown: {message.method}"))
        return reply(seen, answer(message.params) if callable(answer) else answer)

    return serve


@asynccontextmanager
async def connected(answers: Answers, **more: Any) -> AsyncIterator[tuple[Client, Scripted]]:
    server = Scripted(serving(answers))
    with anyio.fail_after(5):
        async with bridge(server) as network, Client(http(URL, transport=network), **more) as client:
            yield client, server


def methods(server: Scripted) -> list[str]:
    return [json.loads(seen.body)["method"] for seen in server.asked("POST")]


# Which era.


async def test_a_server_of_the_stateless_era_is_asked_once_and_has_no_session() -> None:
    async with connected({"server/discover": discovered(), "tools/call": text("x")}) as (client, server):
        assert client.revision == REVISION
        assert (await client.call_tool("x")).content == (TextContent(text="x"),)
    assert methods(server) == ["server/discover", "tools/call"]
    assert [seen.method for seen in server.seen] == ["POST", "POST"]
    assert [seen.headers["mcp-protocol-version"] for seen in server.seen] == [REVISION] * 2
    assert server.seen[1].headers["mcp-name"] == "x"


OLDER = {
    "not initialized": Reply(400, body=encode(Failure(None, -32000, "Bad Request: Server not initialized"))),
    "unsupported header": Reply(400, body=encode(Failure(None, -32000, "The MCP-Protocol-Version 2026-07-28 is no"))),
    "text": Reply(400, "text/plain", b"Unsupported protocol version: 2026-07-28"),
    "empty": Reply(400, None),
    "invalid params": Reply(200, body=encode(Failure(1, -32602, "no"))),
    "no method": Reply(200, body=encode(Failure(1, -32601, "no"))),
    "not found": Reply(404, "text/plain", b"no"),
    "accepted and silent": Reply(202, None),
    "broken": Reply(500, "text/plain", b"boom"),
    "html": Reply(200, "text/html", b"<html>hello</html>"),
    "a stream without an answer": events(b": nothing\n\n"),
    "only the handshake": Reply(400, body=encode(Failure(1, -32022, "no", {"supported": ["2025-11-25"]}))),
}


@pytest.mark.parametrize("answer", OLDER.values(), ids=OLDER.keys())
async def test_whatever_else_is_answered_leads_to_the_handshake(answer: Reply) -> None:
    answers = {"server/discover": answer, "initialize": initialized("2025-06-18", tools={}), "tools/call": text("x")}
    async with connected(answers) as (client, server):
        assert client.revision == "2025-06-18"
        await client.call_tool("x")
    posts = server.asked("POST")
    assert methods(server) == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    assert [seen.headers.get("mcp-protocol-version") for seen in posts] == [REVISION, None, "2025-06-18", "2025-06-18"]


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_an_error_of_the_stateless_era_does_not_lead_there(code: int) -> None:
    answers = {"server/discover": Failure(None, code, "no"), "tools/list": complete(tools=[])}
    async with connected(answers) as (client, server):
        assert (client.revision, await client.list_tools()) == (REVISION, [])
    assert methods(server) == ["server/discover", "tools/list"]


async def test_a_server_without_either_of_the_first_questions_is_of_the_stateless_era() -> None:
    async with connected({"tools/list": complete(tools=[])}) as (client, server):
        assert (client.revision, await client.list_tools()) == (REVISION, [])
    assert methods(server) == ["server/discover", "initialize", "server/discover", "tools/list"]


async def test_a_server_that_wants_to_know_who_asks_is_not_asked_in_another_way() -> None:
    refusal = Reply(401, "text/plain", b"who?", {"www-authenticate": "Bearer"})
    server = Scripted(serving({"server/discover": refusal, "initialize": initialized()}))
    async with bridge(server) as network:
        client = Client(http(URL, transport=network))
        with anyio.fail_after(5), pytest.raises(Unauthorized, match="wants to know who you are"):
            await client.__aenter__()
    assert methods(server) == ["server/discover"]


async def test_a_server_that_is_not_there_shows_no_era() -> None:
    verdicts: dict[str, str] = {}
    with anyio.fail_after(5), pytest.raises(ConnectionLost, match="refused the connection"):
        async with Client(http("http://127.0.0.1:9/mcp"), verdicts=verdicts):  # type: ignore[arg-type]
            pass
    assert verdicts == {}


async def test_arguments_json_cannot_hold_are_the_callers_error_and_the_client_goes_on() -> None:
    async with connected({"server/discover": discovered(), "tools/call": text("x")}) as (client, server):
        with pytest.raises(TypeError):
            await client.call_tool("x", {"a": object()})
        assert (await client.call_tool("x")).content == (TextContent(text="x"),)
    assert methods(server) == ["server/discover", "tools/call"]


# Arguments that are mirrored.


def tool(name: str, **properties: Any) -> Any:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


REGION = {"type": "string", "x-mcp-header": "Region"}


async def test_arguments_are_mirrored_as_the_list_of_tools_says() -> None:
    answers = {
        "server/discover": discovered(),
        "tools/list": complete(tools=[tool("x", region=REGION, depth={"type": "integer", "x-mcp-header": "Depth"})]),
        "tools/call": text("x"),
    }
    async with connected(answers) as (client, server):
        await client.list_tools()
        await client.call_tool("x", {"region": "ütrecht", "depth": 3, "other": 1})
        await client.call_tool("x", {"region": None})
    first, second = (
        {name: value for name, value in seen.headers.items() if name.startswith("mcp-param-")}
        for seen in server.seen[2:]
    )
    assert (first, second) == ({"mcp-param-region": "=?base64?w7x0cmVjaHQ=?=", "mcp-param-depth": "3"}, {})


async def test_what_the_server_missed_is_learned_and_sent() -> None:
    def call(seen: Seen) -> Any:
        return text("x") if "mcp-param-region" in seen.headers else Failure(None, -32020, "Mcp-Param-Region is missing")

    answers = {"server/discover": discovered(), "tools/list": complete(tools=[tool("x", region=REGION)])}

    def serve(seen: Seen) -> Reply:
        message = seen.message
        is_call = isinstance(message, Request) and message.method == "tools/call"
        return reply(seen, call(seen)) if is_call else serving(answers)(seen)

    server = Scripted(serve)
    with anyio.fail_after(5):
        async with bridge(server) as network, Client(http(URL, transport=network)) as client:
            assert (await client.call_tool("x", {"region": "nl"})).content == (TextContent(text="x"),)
    assert methods(server) == ["server/discover", "tools/call", "tools/list", "tools/call"]


async def test_a_tool_that_breaks_the_rules_is_left_out_with_a_notice() -> None:
    notices: list[str] = []
    bad = tool("bad", amount={"type": "number", "x-mcp-header": "Amount"})
    answers = {"server/discover": discovered(), "tools/list": complete(tools=[bad, tool("good", region=REGION)])}
    async with connected(answers, on_notice=notices.append) as (client, _):
        for _ in range(2):
            assert [found.name for found in await client.list_tools()] == ["good"]
    assert notices == ["The tool bad was left out: x-mcp-header of amount needs the type string, integer or boolean."]


# Streams.


async def test_a_call_whose_caller_leaves_closes_its_stream_and_says_nothing() -> None:
    begun = anyio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b": alive\n\n"
        begun.set()
        await anyio.sleep_forever()

    answers = {"server/discover": discovered(), "tools/call": Reply(200, "text/event-stream", endless)}
    async with connected(answers) as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "x")
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert methods(server) == ["server/discover", "tools/call"]


async def test_a_stream_that_ends_without_an_answer_fails_the_call_and_no_other() -> None:
    answers = {"server/discover": discovered(), "tools/call": events(b": nothing\n\n"), "prompts/list": complete()}
    async with connected(answers) as (client, _):
        with pytest.raises(ConnectionLost, match="closed the stream before it answered"):
            await client.call_tool("x")
        assert await client.list_prompts() == []


async def test_what_can_be_asked_again_is_if_its_stream_was_lost() -> None:
    lost = iter([events(b": nothing\n\n"), complete(prompts=[{"name": "p"}])])
    async with connected({"server/discover": discovered(), "prompts/list": lambda params: next(lost)}) as (
        client,
        server,
    ):
        assert [prompt.name for prompt in await client.list_prompts()] == ["p"]
    assert methods(server) == ["server/discover", "prompts/list", "prompts/list"]


async def test_a_subscription_whose_stream_breaks_off_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.mcp.client.subscriptions.RETRY_SECONDS", 0.001)
    changed = "notifications/tools/list_changed"
    answer, heard = (
        serving({"server/discover": discovered(capabilities={"tools": {"listChanged": True}})}),
        anyio.Event(),
    )

    def serve(seen: Seen) -> Reply:
        message = seen.message
        if not isinstance(message, Request) or message.method != "subscriptions/listen":
            return answer(seen)
        agreed = {"notifications": {"toolsListChanged": True}, "_meta": {META + "subscriptionId": message.id}}
        acknowledged = Notification("notifications/subscriptions/acknowledged", agreed)
        return events(event(encode(acknowledged)))

    def hear(method: str, params: Any) -> None:
        assert (method, params) == (changed, {})
        heard.set()

    server = Scripted(serve)
    with anyio.fail_after(5):
        async with bridge(server) as network, Client(http(URL, transport=network), on_notification=hear):
            await heard.wait()
    assert methods(server)[:3] == ["server/discover", "subscriptions/listen", "subscriptions/listen"]


async def test_progress_comes_on_the_stream_of_its_call() -> None:
    reports: list[Any] = []
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}}
    answer = events(event(json.dumps(progress).encode()), event(encode(Result(2, text("x")))))
    async with connected({"server/discover": discovered(), "tools/call": answer}) as (client, _):
        await client.call_tool("x", progress=lambda *report: reports.append(report))
    assert reports == [(1, None, "")]
