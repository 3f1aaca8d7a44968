"""A server in the stateless era: every request says all there is to know, and so does every result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx2
import pytest

from agent.mcp import Caching, Context, Header, Server, SignatureError, ToolResult
from tests.mcp.bridge import bridge
from tests.mcp.raw_client import raw_client
from tests.mcp.stateless_caller import CAPABILITIES, LOG_LEVEL, REVISION, SERVER, Caller, caller

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"


def a_server(**options: Any) -> Server:
    server = Server("here", **options)

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.client_info.get('name')} {ctx.revision} {sorted(ctx.client_capabilities)}"

    @server.tool
    async def report(ctx: Context) -> None:
        for level in ("debug", "warning", "error"):
            await ctx.log(level, level)
        await ctx.progress(1, 2, "half")

    @server.resource("here://doc")
    async def doc() -> str:
        return "text"

    @server.resource("here://{id}")
    async def by_id(id: str) -> str | None:
        return None

    @server.prompt
    async def review() -> str:
        return "Review."

    return server


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": 5}, {"_meta": {"progressToken": 1}}])
async def test_after_discovery_each_request_has_to_say_who_asks(params: Any) -> None:
    async with caller(Server("here")) as client:
        await client.ask("server/discover")
        for method in ("tools/list", "ping", "nonsense"):
            refused = await client.raw.refusal(method, params)
            assert (refused.code, refused.message) == (-32602, f"params._meta lacks {REVISION} and {CAPABILITIES}.")
        assert await client.raw.ask("shutdown") == {}


async def test_after_discovery_and_a_handshake_requests_may_be_of_either_era() -> None:
    server = Server("here", offers=["tools"])
    async with caller(server) as client:
        await client.ask("server/discover")
        offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        await client.raw.ask("initialize", offer)
        assert await client.raw.ask("tools/list") == {"tools": []}
        assert (await client.ask("tools/list"))["resultType"] == "complete"


@pytest.mark.parametrize("version", ["2025-11-25", 5])
async def test_discovery_that_was_refused_binds_to_nothing(version: Any) -> None:
    async with caller(Server("here", offers=["tools"])) as client:
        client.meta[REVISION] = version
        await client.refusal("server/discover")
        assert await client.raw.ask("tools/list") == {"tools": []}


async def test_discovery_says_what_there_is() -> None:
    server = a_server(title="Here", instructions="Be kind.", caching=Caching(list_seconds=900, scope="public"))
    async with raw_client(server, None) as raw:
        meta = {REVISION: "2026-07-28", CAPABILITIES: {}}
        assert await raw.ask("server/discover", {"_meta": meta}) == {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {
                "logging": {},
                "tools": {"listChanged": True},
                "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True},
            },
            "instructions": "Be kind.",
            "ttlMs": 900_000,
            "cacheScope": "public",
            "_meta": {SERVER: {"name": "here", "title": "Here", "version": "1.0"}},
        }


@pytest.mark.parametrize(
    ("meta", "code", "data"),
    [
        ({REVISION: "2026-07-28"}, -32602, None),
        ({CAPABILITIES: {}}, -32602, None),
        ({REVISION: "2026-07-28", CAPABILITIES: []}, -32602, None),
        ({REVISION: "2026-07-28", CAPABILITIES: None}, -32602, None),
        ({REVISION: "2026-07-28", CAPABILITIES: {}, LOG_LEVEL: "loud"}, -32602, None),
        ({REVISION: "v999", CAPABILITIES: {}}, -32022, {"supported": ["2026-07-28"], "requested": "v999"}),
        ({REVISION: "2025-11-25", CAPABILITIES: {}}, -32022, {"supported": ["2026-07-28"], "requested": "2025-11-25"}),
        ({REVISION: 7}, -32602, None),
        ({REVISION: None, CAPABILITIES: {}}, -32602, None),
    ],
)
async def test_half_an_envelope_is_refused(meta: dict[str, Any], code: int, data: Any) -> None:
    async with raw_client(a_server(), None) as raw:
        for method in ("server/discover", "tools/list", "nonsense"):
            refused = await raw.refusal(method, {"_meta": meta})
            assert (refused.code, refused.data) == (code, data)


@pytest.mark.parametrize(
    "method",
    [
        "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "completion/complete",
        "tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result", "shutdown", "nonsense",
    ],
)  # fmt: skip
async def test_what_this_era_does_not_have_is_not_found(method: str) -> None:
    async with caller(a_server()) as client:
        assert (await client.refusal(method, uri="here://doc", level="info")).code == -32601


async def test_both_eras_are_served_on_one_connection() -> None:
    async with raw_client(a_server(), "2025-06-18") as raw:
        client = Caller(raw, {REVISION: "2026-07-28", CAPABILITIES: {"roots": {}}})
        assert (await client.call("who"))["content"][0]["text"] == "None 2026-07-28 ['roots']"
        assert (await raw.call("who"))["content"][0]["text"] == "raw 2025-06-18 []"
        assert await raw.ask("ping") == {}


async def test_an_unsupported_revision_does_not_spoil_the_handshake() -> None:
    async with raw_client(a_server(), None) as raw:
        version = {REVISION: "2027-01-01", CAPABILITIES: {}}
        assert (await raw.refusal("server/discover", {"_meta": version})).code == -32022
        begun = await raw.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "_meta": version})
        assert begun["protocolVersion"] == "2025-06-18"
        await raw.tell("notifications/initialized")
        listed = await raw.ask("tools/list")
    assert set(listed) == {"tools"}


@pytest.mark.parametrize(
    ("method", "params", "data"),
    [
        ("tools/call", {"name": "nope"}, None),
        ("tools/call", {}, None),
        ("prompts/get", {"name": "nope"}, None),
        ("resources/read", {"uri": "here://none"}, {"uri": "here://none"}),
        ("resources/read", {"uri": "elsewhere://x"}, {"uri": "elsewhere://x"}),
        ("tools/list", {"cursor": "made up"}, None),
        ("resources/templates/list", {"cursor": ""}, None),
        ("subscriptions/listen", {}, None),
        ("subscriptions/listen", {"notifications": []}, None),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": "here://doc"}}, None),
        ("subscriptions/listen", {"notifications": {"taskIds": [1]}}, None),
    ],
)
async def test_params_that_make_no_sense_are_refused(method: str, params: dict[str, Any], data: Any) -> None:
    async with caller(a_server()) as client:
        refused = await client.refusal(method, **params)
    assert (refused.code, refused.data) == (-32602, data)


async def test_lists_and_contents_say_how_long_they_hold() -> None:
    server = a_server(caching=Caching(list_seconds=1.5, read_seconds=60, scope="public"))
    async with caller(server) as client:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            listed = await client.ask(method)
            assert (listed["ttlMs"], listed["cacheScope"], listed["resultType"]) == (1_500, "public", "complete")
        assert await client.ask("resources/read", uri="here://doc") == {
            "resultType": "complete",
            "contents": [{"uri": "here://doc", "mimeType": "text/plain", "text": "text"}],
            "ttlMs": 60_000,
            "cacheScope": "public",
        }
        assert set(await client.call("who")) == {"resultType", "content"}


async def test_without_being_told_nothing_is_to_be_kept() -> None:
    async with caller(a_server()) as client:
        listed = await client.ask("tools/list")
        assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
        assert [tool["name"] for tool in listed["tools"]] == ["who", "report"]


@pytest.mark.parametrize(
    ("level", "heard"),
    [(None, []), ("error", ["error"]), ("notice", ["warning", "error"]), ("debug", ["debug", "warning", "error"])],
)
async def test_logs_are_for_requests_that_want_them(level: str | None, heard: list[str]) -> None:
    async with caller(a_server(), **({LOG_LEVEL: level} if level else {}), progressToken="t") as client:
        await client.call("report")
    assert [message["data"] for message in client.raw.told("notifications/message")] == heard
    expected = {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}
    assert client.raw.told("notifications/progress") == [expected]


async def test_a_result_keeps_its_own_meta() -> None:
    server = Server("here")

    @server.tool
    async def tagged() -> ToolResult:
        return ToolResult("x", meta={"example.org/tag": 1})

    async with caller(server) as client:
        assert (await client.call("tagged"))["_meta"] == {"example.org/tag": 1}


# Arguments in headers.


def mirroring() -> Server:
    server = Server("here")

    @server.tool
    async def move(
        region: Annotated[str | None, Header("Region")] = None, steps: Annotated[int, Header("N")] = 0
    ) -> str:
        return f"{region} {steps}"

    return server


async def test_an_argument_may_be_mirrored_in_a_header() -> None:
    async with caller(mirroring()) as client:
        (tool,) = (await client.ask("tools/list"))["tools"]
        assert tool["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"
        assert tool["inputSchema"]["properties"]["region"]["type"] == "string"
        assert tool["inputSchema"]["properties"]["steps"] == {"type": "integer", "default": 0, "x-mcp-header": "N"}
        called = await client.call("move", arguments={"region": "nl"})
        assert called["content"][0]["text"] == "nl 0"  # there are no headers here


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "nl"}, {"mcp-param-region": "nl"}, 200),
        ({"region": "é"}, {"mcp-param-region": "=?base64?w6k=?="}, 200),
        ({"region": "nl", "steps": 42}, {"mcp-param-region": "nl", "mcp-param-n": "42"}, 200),
        ({}, {}, 200),
        ({"region": "nl"}, {"mcp-param-region": "be"}, 400),
        ({"region": "nl"}, {}, 400),
        ({"region": None}, {"mcp-param-region": "nl"}, 400),
        ({"region": "é"}, {"mcp-param-region": "=?base64?w6k?="}, 400),
    ],
)
async def test_headers_that_do_not_mirror_the_arguments_are_refused(
    arguments: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    meta = {REVISION: "2026-07-28", CAPABILITIES: {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "move", "arguments": arguments}}
    body["params"]["_meta"] = meta  # type: ignore[index]
    said = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "move"}
    async with bridge(mirroring().asgi()) as network, httpx2.AsyncClient(transport=network) as web:
        answer = await web.post(URL, json=body, headers=said | headers)
    assert answer.status_code == status
    assert ("error" not in answer.json()) == (status == 200)
    assert status == 200 or answer.json()["error"]["code"] == -32020


async def test_a_header_for_what_no_header_can_hold_is_an_authors_mistake() -> None:
    server = Server("here")

    @server.tool
    async def move(region: Annotated[float, Header("Region")]) -> None: ...

    with pytest.raises(SignatureError, match="move: x-mcp-header of region needs the type string, integer or boolean"):
        server.prepare()


# Over HTTP.


async def test_one_lifespan_serves_all_requests_over_http() -> None:
    lives: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[int]:
        lives.append("begun")
        yield len(lives)
        lives.append("ended")

    server = Server("here", lifespan=lifespan)

    @server.tool
    async def life(ctx: Context) -> str:
        return str(ctx.lifespan)

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "life", "_meta": {REVISION: "2026-07-28", CAPABILITIES: {}}}
    said = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "life"}
    async with bridge(server.asgi()) as network, httpx2.AsyncClient(transport=network) as web:
        for _ in range(2):
            answer = await web.post(URL, json=body | {"params": params}, headers=said)
            assert answer.json()["result"]["content"] == [{"type": "text", "text": "1"}]
        assert lives == ["begun"]
    assert lives == ["begun", "ended"]
