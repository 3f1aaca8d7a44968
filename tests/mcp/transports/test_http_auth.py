"""A protected server over HTTP: who is let in, what the others are told, and whose a session is."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from agent.mcp import Context, Server
from agent.mcp.protocol import CAPABILITIES_KEY, REVISION_KEY, TASKS_EXTENSION
from agent.mcp.transports import http_auth
from agent.mcp.transports.http_auth import Authorization, Token
from agent.mcp.transports.http_server import asgi_app
from tests.mcp.bridge import Bridge

pytestmark = pytest.mark.anyio

HOST = "http://localhost:8000"
HERE = f"{HOST}/mcp"
DESCRIBED = f'resource_metadata="{HOST}/.well-known/oauth-protected-resource/mcp"'
TOKENS = {
    "good": Token("ada", frozenset({HERE}), frozenset({"read"}), None, "cli", {"org": "acme"}),
    "bobs": Token("bob", frozenset({f"{HERE}/"}), frozenset({"read"})),
    "strong": Token("ada", frozenset({HERE}), frozenset({"read", "write"}), None, "cli"),
    "admin": Token("ada", frozenset({HERE}), frozenset({"admin"})),
    "poor": Token("ada", frozenset({HERE})),
    "elsewhere": Token("ada", frozenset({"https://other.example/mcp"}), frozenset({"read"})),
    "old": Token("ada", frozenset({HERE}), frozenset({"read"}), time.time() - 1),
}


async def verify(token: str) -> Token | None:
    if token == "slow":
        await anyio.sleep_forever()
    if token in ("broken", "worse"):
        raise LookupError(f"the key is {token}")
    return TOKENS.get(token)


def authorization(**changes: Any) -> Authorization:
    settings: dict[str, Any] = {
        "resource": HERE,
        "authorization_servers": ("https://login.example",),
        "verify": verify,
        "scopes": ("read",),
        "operations": {"tools/call erase": ("write",), "prompts/list": ("prompts",)},
        "implied": {"admin": ("read", "write", "prompts")},
        "name": "Notes",
    }
    return Authorization(**settings | changes)


def notes() -> Server:
    server = Server("notes")

    @server.tool
    async def erase() -> int:
        return 1

    @server.tool
    async def count() -> int:
        return 2

    @server.tool
    async def whoami(ctx: Context) -> str:
        token = ctx.token
        return f"{token.subject} of {token.client} may {' '.join(token.scopes)}: {token.claims}" if token else "nobody"

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Sure?", {"type": "object", "properties": {}})).action

    @server.tool(task="required")
    async def work() -> int:
        return 3

    return server


@asynccontextmanager
async def client(auth: Authorization | None, *, sse: bool = False) -> AsyncIterator[httpx2.AsyncClient]:
    app = asgi_app(notes(), auth=auth, sse=sse)
    async with anyio.create_task_group() as tasks, app.running():
        with anyio.fail_after(5):
            async with httpx2.AsyncClient(transport=Bridge(app, tasks), base_url=HOST) as made:
                yield made
        tasks.cancel_scope.cancel()


def headers(token: str | None, **more: str) -> dict[str, str]:
    said = {"accept": "application/json, text/event-stream", "content-type": "application/json"} | more
    return said if token is None else said | {"authorization": f"Bearer {token}"}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE = request(
    "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}
)


async def begin(made: httpx2.AsyncClient, token: str) -> dict[str, str]:
    """A session, as the headers of what belongs to it."""
    answer = await made.post("/mcp", json=INITIALIZE, headers=headers(token))
    assert answer.status_code == 200
    session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await made.post(
        "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers(token, **session)
    )
    return session


# Whose it is


async def say(made: httpx2.AsyncClient, token: str, method: str, about: str, **params: Any) -> Any:
    """What is answered to a request of the stateless era."""
    able = {"extensions": {TASKS_EXTENSION: {}}, "elicitation": {}}
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": about}
    body = request(method, _meta={REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: able}, **params)
    return (await made.post("/mcp", json=body, headers=headers(token, **named))).json()


@pytest.mark.parametrize(
    ("method", "more"), [("tasks/get", {}), ("tasks/update", {"inputResponses": {}}), ("tasks/cancel", {})]
)
async def test_a_task_of_one_is_no_task_for_another(method: str, more: dict[str, Any]) -> None:
    async with client(authorization()) as made:
        task = (await say(made, "good", "tools/call", "work", name="work", arguments={}))["result"]["taskId"]
        refused = (await say(made, "bobs", method, task, taskId=task, **more))["error"]
        assert (refused["code"], refused["message"]) == (-32602, f"There is no task {task!r}.")
        for token in ("good", "strong"):
            assert "result" in await say(made, token, method, task, taskId=task, **more)


async def test_what_one_was_asked_cannot_be_answered_by_another() -> None:
    call = {"name": "ask", "arguments": {}}
    async with client(authorization()) as made:
        asked = (await say(made, "good", "tools/call", "ask", **call))["result"]
        (key,) = asked["inputRequests"]
        call |= {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
        refused = (await say(made, "bobs", "tools/call", "ask", **call))["error"]
        assert (refused["code"], refused["data"]) == (-32602, {"reason": "invalid_request_state"})
        done = (await say(made, "strong", "tools/call", "ask", **call))["result"]
        assert done["content"] == [{"type": "text", "text": "decline"}]


async def test_a_tool_knows_who_calls_it_in_either_era() -> None:
    who = "ada of cli may read: {'org': 'acme'}"
    async with client(authorization()) as made:
        modern = await say(made, "good", "tools/call", "whoami", name="whoami", arguments={})
        session = await begin(made, "good")
        answer = await made.post("/mcp", json=call("whoami"), headers=headers("good", **session))
        assert [body["result"]["content"][0]["text"] for body in (modern, answer.json())] == [who, who]
    async with client(None) as made:
        session = await begin(made, "")
        answer = await made.post("/mcp", json=call("whoami"), headers=headers(None, **session))
        assert answer.json()["result"]["content"][0]["text"] == "nobody"


# Metadata


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"])
async def test_anybody_may_know_who_issues_tokens_for_it(path: str) -> None:
    async with client(authorization()) as made:
        answer = await made.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.json() == {
            "resource": HERE,
            "authorization_servers": ["https://login.example"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["read", "write", "prompts"],
            "resource_name": "Notes",
        }


async def test_a_server_for_everybody_says_nothing_about_tokens() -> None:
    async with client(None) as made:
        assert (await made.get("/.well-known/oauth-protected-resource/mcp")).status_code == 404
        assert (await made.post("/mcp", json=INITIALIZE, headers=headers(None))).status_code == 200


async def test_where_there_is_nothing_there_is_nothing_to_be_let_in_to() -> None:
    async with client(authorization()) as made:
        assert (await made.get("/.well-known/oauth-authorization-server")).status_code == 404
        assert (await made.post("/.well-known/oauth-protected-resource")).status_code == 404


# Tokens


@pytest.mark.parametrize(
    ("token", "status", "challenge"),
    [
        (None, 401, f'Bearer scope="read", {DESCRIBED}'),
        ("unheard-of", 401, 'Bearer error="invalid_token", error_description="The token is not valid.", scope="read", '
         + DESCRIBED),
        ("old", 401, 'Bearer error="invalid_token", error_description="The token has run out.", scope="read", '
         + DESCRIBED),
        ("elsewhere", 401, 'Bearer error="invalid_token", error_description="The token is not for this server.", '
         'scope="read", ' + DESCRIBED),
        ("poor", 403, 'Bearer error="insufficient_scope", error_description="The token is not enough for this: it '
         'lacks a scope.", scope="read", ' + DESCRIBED),
    ],
)  # fmt: skip
async def test_who_has_no_good_token_is_told_what_is_missing(token: str | None, status: int, challenge: str) -> None:
    async with client(authorization()) as made:
        for answer in (
            await made.post("/mcp", json=INITIALIZE, headers=headers(token)),
            await made.get("/mcp", headers=headers(token)),
        ):
            assert (answer.status_code, answer.headers["www-authenticate"]) == (status, challenge)


async def test_a_token_counts_in_its_header_alone() -> None:
    async with client(authorization()) as made:
        answer = await made.post("/mcp?access_token=good", json=INITIALIZE, headers=headers(None))
        assert answer.status_code == 401
        answer = await made.post("/mcp", json=INITIALIZE, headers=headers(None, authorization="Basic Z29vZDo="))
        assert answer.status_code == 401
        answer = await made.post("/mcp", json=INITIALIZE, headers=headers(None, authorization="bearer good"))
        assert answer.status_code == 200


async def test_two_tokens_are_none() -> None:
    async with client(authorization()) as made:
        twice = [*headers("good").items(), ("authorization", "Bearer strong")]
        answer = await made.post("/mcp", json=INITIALIZE, headers=twice)
        assert answer.status_code == 400
        assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_request"')


async def test_a_token_that_cannot_be_checked_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_auth, "VERIFY_SECONDS", 0.01)
    async with client(authorization()) as made:
        answer = await made.post("/mcp", json=INITIALIZE, headers=headers("slow"))
        assert (answer.status_code, "www-authenticate" in answer.headers) == (503, False)


async def test_a_token_that_cannot_be_verified_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async with client(authorization()) as made:
        for token in ("broken", "broken", "worse", "good", "worse"):
            answer = await made.post("/mcp", json=INITIALIZE, headers=headers(token))
            assert answer.status_code == (200 if token == "good" else 503)
            if token != "good":
                sentence = "The token could not be verified; try again later."
                assert answer.json()["error"] == {"code": -32603, "message": sentence}
    told = "access tokens cannot be verified: LookupError: the key is {}"
    assert [record.getMessage() for record in caplog.records] == [told.format(t) for t in ("broken", "worse", "worse")]
    assert all(record.exc_info is None for record in caplog.records)


# Scopes


def call(tool: str) -> dict[str, Any]:
    return request("tools/call", name=tool, arguments={})


@pytest.mark.parametrize(
    ("token", "message", "status"),
    [
        ("good", call("count"), 200),
        ("good", call("erase"), 403),
        ("strong", call("erase"), 200),
        ("strong", request("prompts/list"), 403),
        ("admin", call("erase"), 200),
        ("admin", request("prompts/list"), 200),
    ],
)
async def test_some_operations_take_more_than_others(token: str, message: dict[str, Any], status: int) -> None:
    async with client(authorization()) as made:
        session = await begin(made, token)
        answer = await made.post("/mcp", json=message, headers=headers(token, **session))
        assert answer.status_code == status


async def test_all_that_is_lacking_is_said_at_once_in_either_era() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    modern = request("tools/call", name="erase", arguments={}, _meta=meta)
    said = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "erase"}
    async with client(authorization()) as made:
        session = await begin(made, "good")
        for answer in (
            await made.post("/mcp", json=call("erase"), headers=headers("good", **session)),
            await made.post("/mcp", json=modern, headers=headers("good", **said)),
        ):
            assert answer.status_code == 403
            challenge = answer.headers["www-authenticate"]
            assert 'error="insufficient_scope"' in challenge
            assert 'scope="read write"' in challenge
        answer = await made.post("/mcp", json=modern, headers=headers("strong", **said))
        assert answer.status_code == 200


# Sessions


async def test_a_session_is_no_use_to_anybody_else() -> None:
    async with client(authorization()) as made:
        session = await begin(made, "good")
        assert (await made.post("/mcp", json=call("count"), headers=headers("bobs", **session))).status_code == 404
        assert (await made.get("/mcp", headers=headers("bobs", **session))).status_code == 404
        assert (await made.delete("/mcp", headers=headers("bobs", **session))).status_code == 404
        answer = await made.post("/mcp", json=call("count"), headers=headers("strong", **session))
        assert answer.status_code == 200  # another token of the same person


async def test_the_older_transport_is_guarded_too() -> None:
    async with client(authorization(), sse=True) as made:
        assert (await made.get("/sse", headers=headers(None))).status_code == 401
        assert (await made.post("/messages", json=call("count"), headers=headers(None))).status_code == 401
        assert (await made.post("/messages", json=call("erase"), headers=headers("good"))).status_code == 403
        assert (await made.post("/messages", json=call("count"), headers=headers("good"))).status_code == 404
        assert (await made.post("/messages", content=b"{", headers=headers("good"))).status_code == 404


async def test_a_session_of_the_older_transport_is_no_use_to_anybody_else() -> None:
    async with client(authorization(), sse=True) as made, made.stream("GET", "/sse", headers=headers("good")) as stream:
        events = stream.aiter_text()
        where = (await anext(events)).split("data: ")[1].strip()
        assert (await made.post(where, json=call("count"), headers=headers("bobs"))).status_code == 404
        for message in (INITIALIZE, call("whoami")):
            assert (await made.post(where, json=message, headers=headers("good"))).status_code == 202
        await anext(events)
        assert "ada of cli may read" in await anext(events)
