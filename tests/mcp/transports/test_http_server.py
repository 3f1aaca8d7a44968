"""A server over HTTP in the handshake era: sessions, streams, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp_types import TextContent

from agent.mcp.client.client import Client
from agent.mcp.envelope import Channel, Closed, Envelope
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import Notification, Params, Request, Result
from agent.mcp.protocol import CAPABILITIES_KEY, REVISION_KEY
from agent.mcp.server.context import Context
from agent.mcp.server.server import Server
from agent.mcp.session import open_session
from agent.mcp.sse import Event, EventReader
from agent.mcp.transports import event_store, http_responses, http_sessions
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_server import asgi_app
from tests.mcp.bridge import bridge

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8000/mcp"
BOTH = {"accept": "application/json, text/event-stream"}


class Demo:
    """A server whose tools say when they run, and wait when they are told to."""

    def __init__(self) -> None:
        self.server = Server("demo")
        self.running, self.go_on, self.stopped = anyio.Event(), anyio.Event(), anyio.Event()
        self.server.tool(self.echo)
        self.server.tool(self.chatty)
        self.server.tool(self.slow)
        self.server.tool(self.asking)

    async def echo(self, text: str) -> str:
        return text

    async def chatty(self, ctx: Context) -> str:
        await ctx.progress(1, 2, "half")
        return "done"

    async def slow(self, ctx: Context) -> str:
        self.running.set()
        try:
            await self.go_on.wait()
        finally:
            self.stopped.set()
        return "at last"

    async def asking(self, ctx: Context) -> str:
        return (await ctx.sample("Say it")).text


@asynccontextmanager
async def serving(demo: Demo, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with bridge(asgi_app(demo.server, **options)) as network, httpx2.AsyncClient(transport=network) as web:
        yield web


def message(method: str, id: int | str | None = None, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})


def call(tool: str, id: int = 2, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", id, name=tool, arguments=arguments, _meta={"progressToken": id})


async def begin(web: httpx2.AsyncClient, revision: str = "2025-11-25") -> dict[str, str]:
    """The headers of a new session."""
    offer = message(
        "initialize", 1, protocolVersion=revision, capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    answer = await web.post(URL, json=offer, headers=BOTH)
    assert answer.status_code == 200
    assert answer.json()["result"]["protocolVersion"] == revision
    session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": revision}
    told = await web.post(URL, json=message("notifications/initialized"), headers=BOTH | session)
    assert (told.status_code, told.content) == (202, b"")
    return session


class Stream:
    """Events of a response, one after the other."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status, self.headers = response.status_code, response.headers
        self.reader = EventReader()
        self._chunks = response.aiter_bytes()
        self._events: list[Any] = []

    async def next(self) -> Any:
        """The JSON of the next event; None at the end."""
        with anyio.fail_after(5):
            while not self._events:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    return None
                self._events += self.reader.feed(chunk)
        event = self._events.pop(0)
        assert isinstance(event, Event)
        return json.loads(event.data)


@asynccontextmanager
async def streaming(
    web: httpx2.AsyncClient, method: str, headers: Mapping[str, str], body: Any = None
) -> AsyncIterator[Stream]:
    async with web.stream(method, URL, headers=BOTH | dict(headers), json=body) as response:
        yield Stream(response)


# Sessions.


async def test_a_call_that_only_answers_is_a_document() -> None:
    async with serving(Demo()) as web:
        session = await begin(web)
        answer = await web.post(URL, json=call("echo", text="hi"), headers=BOTH | session)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "hi"}]}}


async def test_an_error_of_a_session_is_an_answer_like_any_other() -> None:
    async with serving(Demo()) as web:
        session = await begin(web)
        answer = await web.post(URL, json=message("no/such", 2), headers=BOTH | session)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32601)


@pytest.mark.parametrize(
    ("method", "session", "status"),
    [
        ("POST", None, 400),
        ("POST", "bogus", 404),
        ("GET", None, 400),
        ("GET", "bogus", 404),
        ("DELETE", None, 400),
        ("DELETE", "bogus", 404),
    ],
)
async def test_a_session_that_is_none_is_told_so(method: str, session: str | None, status: int) -> None:
    named = {} if session is None else {"mcp-session-id": session}
    async with serving(Demo()) as web:
        answer = await web.request(method, URL, json=message("tools/list", 2), headers=BOTH | named)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == -32600


async def test_an_ended_session_is_no_more() -> None:
    async with serving(Demo()) as web:
        session = await begin(web)
        assert (await web.delete(URL, headers=session)).status_code == 204
        assert (await web.post(URL, json=message("ping", 2), headers=BOTH | session)).status_code == 404
        assert (await web.delete(URL, headers=session)).status_code == 404


async def test_sessions_know_nothing_of_each_other() -> None:
    demo = Demo()
    async with serving(demo) as web, anyio.create_task_group() as tasks:
        one, other = await begin(web), await begin(web, "2025-06-18")
        assert one["mcp-session-id"] != other["mcp-session-id"]

        async def wait_for_it() -> None:
            answer = await web.post(URL, json=call("slow"), headers=BOTH | one)
            assert answer.json()["result"]["content"][0]["text"] == "at last"

        tasks.start_soon(wait_for_it)
        await demo.running.wait()
        answer = await web.post(URL, json=call("echo", 2, text="same id"), headers=BOTH | other)
        assert answer.json()["result"]["content"][0]["text"] == "same id"
        demo.go_on.set()


async def test_a_handshake_that_fails_leaves_no_session() -> None:
    class Refusing(Server):
        async def serve(self, channel: Channel) -> None:
            async with open_session(channel, self) as session:
                await session.closed.wait()

        async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
            raise McpError(-32602, "no")

        def on_notification(self, notification: Notification) -> None: ...
        def on_trouble(self, trouble: object) -> None: ...

    async with (
        bridge(asgi_app(Refusing("no"), max_sessions=1)) as network,
        httpx2.AsyncClient(transport=network) as web,
    ):
        for _ in range(2):
            answer = await web.post(URL, json=message("initialize", 1), headers=BOTH)
            assert answer.json()["error"]["code"] == -32602
            assert (await web.post(URL, json=message("ping", 1), headers=BOTH)).status_code == 400
            await anyio.wait_all_tasks_blocked()


async def test_the_session_that_is_idle_for_longest_makes_room() -> None:
    async with serving(Demo(), max_sessions=2) as web:
        sessions = [await begin(web) for _ in range(3)]
        answers = [await web.post(URL, json=message("ping", 1), headers=BOTH | session) for session in sessions]
    assert [answer.status_code for answer in answers] == [404, 200, 200]


async def test_a_session_in_use_makes_no_room() -> None:
    async with serving(Demo(), max_sessions=1) as web, streaming(web, "GET", await begin(web)):
        assert (await web.post(URL, json=message("initialize", 1), headers=BOTH)).status_code == 503


async def test_a_session_that_nobody_uses_ends() -> None:
    class Watched(Server):
        async def serve(self, channel: Channel) -> None:
            await super().serve(channel)
            ended.set()

    ended = anyio.Event()
    async with (
        bridge(asgi_app(Watched("w"), idle_seconds=0.05)) as network,
        httpx2.AsyncClient(transport=network) as web,
    ):
        begun = await web.post(URL, json=message("initialize", 1, capabilities={}), headers=BOTH)
        session = BOTH | {"mcp-session-id": begun.headers["mcp-session-id"]}
        with anyio.fail_after(5):
            await ended.wait()
        assert (await web.post(URL, json=message("ping", 2), headers=session)).status_code == 404


async def test_without_its_lifespan_an_app_says_what_is_missing() -> None:
    async def bare(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)

    app = asgi_app(Demo().server)
    async with bridge(bare) as network, httpx2.AsyncClient(transport=network) as web:
        stateless = message("x", 1, _meta={REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}})
        named = {"mcp-protocol-version": "2026-07-28", "mcp-method": "x"}
        for said, headers in ((message("initialize", 1), BOTH), (stateless, BOTH | named)):
            answer = await web.post(URL, json=said, headers=headers)
            assert answer.status_code == 500
            assert "lifespan" in answer.json()["error"]["message"]
        async with app.running():
            await begin(web)


@pytest.mark.parametrize("when", ["startup", "shutdown"])
async def test_a_lifespan_that_fails_is_told_in_a_sentence(when: str) -> None:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        if when == "startup":
            raise ValueError("no database")
        yield
        raise ValueError("no database")

    async def receive() -> Any:
        return {"type": "lifespan.anything"}

    async def send(part: Any) -> None:
        sent.append(part)

    sent: list[Any] = []
    await asgi_app(Server("s", lifespan=lifespan))({"type": "lifespan"}, receive, send)
    told = {"startup": "its lifespan raised ValueError: no database", "shutdown": "no database"}
    assert sent[-1] == {"type": f"lifespan.{when}.failed", "message": told[when]}


async def test_a_server_that_cannot_serve_ends_that_session_alone() -> None:
    class Broken(Server):
        async def serve(self, channel: Channel) -> None:
            raise OSError("no database")

    async with bridge(asgi_app(Broken("b"))) as network, httpx2.AsyncClient(transport=network) as web:
        for _ in range(2):
            answer = await web.post(URL, json=message("initialize", 1), headers=BOTH)
            assert answer.status_code == 404


# Streams.


async def test_what_is_said_during_a_call_makes_it_a_stream_that_can_be_resumed() -> None:
    async with serving(Demo(), retry=250) as web:
        session = await begin(web)
        async with streaming(web, "POST", session, call("chatty")) as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            assert stream.headers["x-accel-buffering"] == "no"
            assert (await stream.next())["params"] == {"progressToken": 2, "progress": 1, "total": 2, "message": "half"}
            assert (await stream.next())["result"]["content"][0]["text"] == "done"
            assert await stream.next() is None
        assert (stream.reader.last_id, stream.reader.retry) == ("3-2", 250)
        async with streaming(web, "GET", session | {"last-event-id": "3-1"}) as rest:
            assert (await rest.next())["result"]["content"][0]["text"] == "done"
            assert await rest.next() is None


@pytest.mark.parametrize(
    ("revision", "beginning"), [("2025-11-25", b"id: 3-0\nretry: 1000\ndata: \n\n"), ("2025-06-18", b"")]
)
async def test_only_clients_that_know_it_get_an_event_without_data(revision: str, beginning: bytes) -> None:
    async with serving(Demo()) as web:
        session = await begin(web, revision)
        answer = await web.post(URL, json=call("chatty"), headers=BOTH | session)
    assert answer.content.startswith(beginning + b"id: 3-1\ndata: {")


async def test_a_client_that_goes_away_does_not_stop_the_work_and_fetches_the_answer() -> None:
    demo = Demo()
    async with serving(demo) as web:
        session = await begin(web)

        async def chatty_then_slow(ctx: Context) -> str:
            await ctx.progress(1)
            return await demo.slow(ctx)

        demo.server.tool(chatty_then_slow)
        async with streaming(web, "POST", session, call("chatty_then_slow")) as stream:
            await stream.next()
        await demo.running.wait()
        assert not demo.stopped.is_set()
        async with streaming(web, "GET", session | {"last-event-id": "3-1"}) as rest:
            demo.go_on.set()
            assert (await rest.next())["result"]["content"][0]["text"] == "at last"


async def test_a_client_that_has_left_slows_nobody_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "BACKLOG", 0)
    demo = Demo()

    async def talkative(ctx: Context) -> str:
        for done in range(10):
            await ctx.progress(done + 1)
            await demo.slow(ctx)
        return "said it all"

    demo.server.tool(talkative)
    async with serving(demo) as web:
        session = await begin(web)
        async with streaming(web, "POST", session, call("talkative")) as stream:
            await stream.next()
        demo.go_on.set()
        async with streaming(web, "GET", session | {"last-event-id": "3-10"}) as rest:
            assert (await rest.next())["result"]["content"][0]["text"] == "said it all"


async def test_a_withdrawn_call_is_stopped_and_not_answered() -> None:
    demo = Demo()
    async with serving(demo) as web:
        session = await begin(web)
        async with anyio.create_task_group() as tasks:

            async def wait_in_vain() -> None:
                answer = await web.post(URL, json=call("slow"), headers=BOTH | session)
                assert (answer.status_code, answer.content) == (202, b"")

            tasks.start_soon(wait_in_vain)
            await demo.running.wait()
            await web.post(URL, json=message("notifications/cancelled", requestId=2), headers=BOTH | session)
            with anyio.fail_after(5):
                await demo.stopped.wait()


async def test_a_question_goes_out_on_the_stream_of_the_call_it_belongs_to() -> None:
    async def answer(method: str, params: Params) -> dict[str, Any]:
        return {"role": "assistant", "content": {"type": "text", "text": "It."}, "model": "m"}

    async with (
        bridge(asgi_app(Demo().server)) as network,
        Client(http(URL, transport=network), answer=answer) as client,
    ):
        with anyio.fail_after(5):
            result = await client.call_tool("asking")
    assert result.content[0].text == "It."  # type: ignore[union-attr]


async def test_what_belongs_to_no_call_goes_out_on_the_stream_of_its_own_and_waits_for_it() -> None:
    demo = Demo()
    async with serving(demo) as web:
        session = await begin(web)
        demo.server.remove_tool("slow")
        await anyio.wait_all_tasks_blocked()
        async with streaming(web, "GET", session) as stream:
            assert (await stream.next())["method"] == "notifications/tools/list_changed"
            demo.server.remove_tool("echo")
            assert (await stream.next())["method"] == "notifications/tools/list_changed"
            async with streaming(web, "GET", session) as other:
                assert await stream.next() is None
                demo.server.remove_tool("chatty")
                assert (await other.next())["method"] == "notifications/tools/list_changed"
        async with streaming(web, "GET", session | {"last-event-id": "1-2"}) as again:
            assert (await again.next())["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("id", ["9-1", "nonsense", "1-x"])
async def test_an_event_nobody_knows_cannot_be_resumed_from(id: str) -> None:
    async with serving(Demo()) as web:
        session = await begin(web)
        answer = await web.get(URL, headers=BOTH | session | {"last-event-id": id})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


async def test_a_silent_call_that_is_cut_off_can_be_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert http_sessions.COMMIT_SECONDS <= 2
    monkeypatch.setattr(http_sessions, "COMMIT_SECONDS", 0.01)
    demo = Demo()
    async with serving(demo) as web:
        session = await begin(web)
        async with web.stream("POST", URL, json=call("slow"), headers=BOTH | session) as response:
            reader = EventReader()
            with anyio.fail_after(5):
                while reader.last_id is None:
                    reader.feed(await anext(response.aiter_bytes()))
        demo.go_on.set()
        async with streaming(web, "GET", session | {"last-event-id": reader.last_id}) as again:
            assert (await again.next())["result"]["content"][0]["text"] == "at last"


async def test_a_silent_call_becomes_a_stream_that_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sessions, "COMMIT_SECONDS", 0.01)
    monkeypatch.setattr(http_responses, "KEEPALIVE_SECONDS", 0.01)
    demo = Demo()
    async with serving(demo) as web:
        session = await begin(web)
        async with web.stream("POST", URL, json=call("slow"), headers=BOTH | session) as response:
            seen = b""
            with anyio.fail_after(5):
                async for chunk in response.aiter_bytes():
                    seen += chunk
                    if seen.count(b": keepalive\n\n") == 2:
                        demo.go_on.set()
    assert b'"at last"' in seen


async def test_a_call_that_hangs_up_is_answered_when_the_client_comes_back() -> None:
    demo = Demo()

    class Hanging(Server):
        """Hangs up on every call before it answers it."""

        async def serve(self, channel: Channel) -> None:
            self.channel = channel
            async with open_session(channel, self) as session:
                await session.closed.wait()

        async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
            if request.method == "initialize":
                return {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "serverInfo": {"name": "h", "version": "1"},
                }
            await self.channel.send(Closed(request.id))
            await demo.go_on.wait()
            return {}

        def on_notification(self, notification: Notification) -> None: ...
        def on_trouble(self, trouble: object) -> None: ...

    async with bridge(asgi_app(Hanging("h"), retry=0)) as network, http(URL, transport=network) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((Request(1, "initialize", {"protocolVersion": "2025-11-25"}),)))
            await channel.receive()
            await channel.send(Envelope((Request(2, "ping"),)))
            while not any(seen.headers.get("last-event-id") for seen in network.seen):
                await anyio.wait_all_tasks_blocked()
            demo.go_on.set()
            assert await channel.receive() == Envelope((Result(2, {}),), about=2)


# What is refused.


async def test_what_may_not_be_asked_is_refused_with_its_status() -> None:
    async with serving(Demo(), allowed_origins=["https://app.example"], max_body=1_000) as web:
        ping = message("ping", 1)
        statuses = [
            (await web.post(URL, json=ping, headers=BOTH | {"host": "attacker.com"})).status_code,
            (await web.post(URL, json=ping, headers=BOTH | {"origin": "https://evil.example"})).status_code,
            (await web.post(URL, json=ping, headers=BOTH | {"origin": "https://app.example"})).status_code,
            (await web.put(URL, json=ping)).status_code,
            (await web.post(URL, json=ping, headers={"accept": "text/html"})).status_code,
            (await web.post(URL, content=b"{}", headers=BOTH | {"content-type": "text/plain"})).status_code,
            (await web.post(URL, content=b"{", headers=BOTH | {"content-type": "application/json"})).status_code,
            (await web.post(URL, json=ping | {"x": "x" * 1_000}, headers=BOTH)).status_code,
            (await web.get("http://127.0.0.1:8000/.well-known/oauth-protected-resource")).status_code,
            (await web.get("http://127.0.0.1:8000/sse")).status_code,
        ]
        assert (await web.put(URL, json=ping)).headers["allow"] == "GET, POST, DELETE"
    assert statuses == [403, 403, 400, 405, 406, 415, 400, 413, 404, 404]


@pytest.mark.parametrize("url", ["http://localhost:8000/mcp", "http://[::1]:8000/mcp/"])
async def test_this_machine_has_several_names(url: str) -> None:
    async with serving(Demo()) as web:
        assert (await web.post(url, json=message("ping", 1), headers=BOTH)).status_code == 400


async def test_a_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_responses, "BODY_SECONDS", 0.01)
    app, sent = asgi_app(Demo().server), list[Any]()

    async def receive() -> Any:
        if not sent and not asked:
            asked.append(1)
            return {"type": "http.request", "body": b"{", "more_body": True}
        return await anyio.sleep_forever()

    async def send(part: Any) -> None:
        sent.append(part)

    asked: list[int] = []
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    with anyio.fail_after(5):
        await app(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_a_client_that_leaves_before_its_body_is_there_is_let_go() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(part: Any) -> None:
        sent.append(part)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    await asgi_app(Demo().server)(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_a_request_id_in_use_is_refused_and_the_first_is_answered() -> None:
    demo = Demo()
    async with serving(demo) as web, anyio.create_task_group() as tasks:
        session = await begin(web)

        async def first() -> None:
            answer = await web.post(URL, json=call("slow"), headers=BOTH | session)
            assert answer.json()["result"]["content"][0]["text"] == "at last"

        tasks.start_soon(first)
        await demo.running.wait()
        second = await web.post(URL, json=call("echo", 2, text="x"), headers=BOTH | session)
        assert (second.status_code, second.json()["error"]["code"]) == (400, -32600)
        demo.go_on.set()


async def test_ending_a_session_lets_go_of_who_waits_in_it() -> None:
    demo = Demo()
    async with serving(demo) as web, anyio.create_task_group() as tasks:
        session = await begin(web)

        async def wait_in_vain() -> None:
            with anyio.fail_after(5):
                assert (await web.post(URL, json=call("slow"), headers=BOTH | session)).status_code == 404

        tasks.start_soon(wait_in_vain)
        await demo.running.wait()
        await web.delete(URL, headers=session)


# Batches (2025-03-26).


async def test_a_batch_is_answered_as_one() -> None:
    async with serving(Demo()) as web:
        session = await begin(web, "2025-03-26")
        batch = [call("echo", 2, text="a"), message("notifications/x"), call("echo", 3, text="b")]
        answer = await web.post(URL, json=batch, headers=BOTH | session)
        told = await web.post(URL, json=[message("notifications/x")], headers=BOTH | session)
    texts = {each["id"]: each["result"]["content"][0]["text"] for each in answer.json()}
    assert texts == {2: "a", 3: "b"}
    assert told.status_code == 202


async def test_a_batch_that_says_more_is_one_stream() -> None:
    async with serving(Demo()) as web:
        session = await begin(web, "2025-03-26")
        async with streaming(web, "POST", session, [call("chatty", 2), call("chatty", 3)]) as stream:
            seen = [await stream.next() for _ in range(5)]
    assert seen[-1] is None
    assert {each["id"] for each in seen[:-1] if "id" in each} == {2, 3}


@pytest.mark.parametrize(
    ("revision", "batch"),
    [
        ("2025-11-25", [message("ping", 2)]),
        ("2024-11-05", [message("ping", 2)]),
        ("2025-03-26", [message("ping", 2), message("ping", 2)]),
        ("2025-03-26", [message("initialize", 2, protocolVersion="2025-03-26")]),
        ("2025-03-26", []),
    ],
)
async def test_other_batches_are_refused(revision: str, batch: list[Any]) -> None:
    async with serving(Demo()) as web:
        session = await begin(web, revision)
        answer = await web.post(URL, json=batch, headers=BOTH | session)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


# Our client with it.


async def test_our_client_loses_a_session_and_begins_another() -> None:
    app = asgi_app(Demo().server)
    async with bridge(app) as network, Client(http(URL, transport=network), protocol="2025-11-25") as client:
        app.end()
        await anyio.wait_all_tasks_blocked()
        assert (await client.call_tool("echo", {"text": "x"})).content == (TextContent(text="x"),)
        begun = [request for request in network.seen if b'"initialize"' in request.content]
    assert len(begun) == 2


async def test_a_websocket_is_turned_away() -> None:
    sent: list[Any] = []

    async def send(part: Any) -> None:
        sent.append(part)

    await asgi_app(Demo().server)({"type": "websocket"}, anyio.sleep_forever, send)
    assert sent == [{"type": "websocket.close"}]
