"""A server as an ASGI app: Streamable HTTP of both eras at one path, and optionally HTTP+SSE."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.mcp.admission import (
    LOOPBACK,
    Handshaken,
    Headers,
    Refusal,
    Stateless,
    check_caller,
    check_method,
    check_types,
    read_post,
)
from agent.mcp.jsonrpc import MalformedMessage, Message, Request, decode
from agent.mcp.transports.http_auth import WELL_KNOWN, Authorization, Authorizer
from agent.mcp.transports.http_responses import Receive, Scope, Send, read_body, send_document, send_refusal
from agent.mcp.transports.http_sessions import Serves, Sessions, context_of
from agent.mcp.transports.http_stateless import Posts
from agent.mcp.transports.sse_server import GET_PATH, POST_PATH, SseSessions

Said = Stateless | Handshaken | Refusal

BODY_LIMIT = 16 * 1024 * 1024  # bytes of one message


def asgi_app(
    server: Serves,
    *,
    path: str = "/mcp",
    sse: bool = False,
    allowed_hosts: Iterable[str] = LOOPBACK,
    allowed_origins: Iterable[str] = (),
    max_body: int = BODY_LIMIT,
    max_sessions: int = 1_000,
    idle_seconds: float = 1_800,
    retry: int = 1_000,
    auth: Authorization | None = None,
) -> HttpApp:
    """An ASGI app that serves `server` at `path`, to clients of every revision.

    Stateless requests can be distributed over any number of workers. A session of the handshake era lives in one
    process: `max_sessions` of them, each until it was idle for `idle_seconds`. Behind a load balancer, requests with
    the same `Mcp-Session-Id` must reach the same worker.

    `allowed_hosts` are the names the server answers to (without port, `*` for any), `allowed_origins` the web pages
    that may call it besides its own and those on the same hosts, such as `https://app.example` (`*` for any).
    `max_body` is in bytes; `retry` is the time in milliseconds after which a client should reconnect. `sse` adds the
    endpoints of HTTP+SSE (2024-11-05), `/sse` and `/messages`. With `auth` every request needs an access token.

    Mounted in another app that does not run its lifespan, it needs `async with app.running():` in that app's lifespan.

    Sections "Transports, Streamable HTTP" and "Security Warning" of the specification.
    """
    sessions = Sessions(server, max_sessions, idle_seconds, retry)
    old = SseSessions(server, max_sessions) if sse else None
    authorizer = Authorizer(auth) if auth else None
    settings = AppSettings(path, frozenset(allowed_hosts), frozenset(allowed_origins), max_body, authorizer)
    return HttpApp(server, sessions, old, settings)


@dataclass(frozen=True, slots=True)
class AppSettings:
    """The path of an app, and which requests it accepts; without an `authorizer`, from everybody."""

    path: str
    hosts: frozenset[str]
    origins: frozenset[str]
    max_body: int
    authorizer: Authorizer | None = None


class HttpApp:
    """Made by `asgi_app`. `fault` is the exception that prevented its start, if there was one."""

    def __init__(self, server: Serves, sessions: Sessions, old: SseSessions | None, settings: AppSettings) -> None:
        self._server, self._sessions, self._old, self._settings = server, sessions, old, settings
        self._posts = Posts(server)
        self.fault: Exception | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The scope in which requests are served; entered by the app's lifespan."""
        async with self._server.running(), self._posts.running(), self._sessions.running():
            yield

    def end(self) -> None:
        """End every stream, before the process stops."""
        self._server.end_subscriptions()
        self._sessions.end_all()
        if self._old:
            self._old.end_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close"})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        is_up = False
        try:
            async with self.running():
                is_up = True
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:  # the server's lifespan may raise anything
            self.fault = None if is_up else error
            failed = "lifespan.shutdown.failed" if is_up else "lifespan.startup.failed"
            await send({"type": failed, "message": str(error) or type(error).__name__})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, method = Headers(scope["headers"]), scope["method"]
        path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")
        if refused := check_caller(headers, self._settings.hosts, self._settings.origins):
            await send_refusal(send, refused)
        elif path.startswith(WELL_KNOWN):
            await self._describe(method, path, send)
        elif not self._is_endpoint(path):
            await send_document(send, 404, b"")
        elif self._settings.authorizer and (refused := await self._settings.authorizer.authenticate(headers)):
            await send_refusal(send, refused)
        elif path == self._settings.path.rstrip("/"):
            await self._stream(method, headers, receive, send)
        elif self._old and (method, path) == ("GET", GET_PATH):
            await self._old.get(scope, headers, receive, send)
        elif self._old and (method, path) == ("POST", POST_PATH):
            await self._speak(self._old, scope, headers, receive, send)
        else:
            await send_document(send, 404, b"")

    def _is_endpoint(self, path: str) -> bool:
        return path == self._settings.path.rstrip("/") or (self._old is not None and path in (GET_PATH, POST_PATH))

    async def _describe(self, method: str, path: str, send: Send) -> None:
        """The protected resource metadata, for everybody (section "Authorization")."""
        authorizer = self._settings.authorizer
        document = authorizer.metadata(path) if authorizer and method == "GET" else None
        anyone = [(b"access-control-allow-origin", b"*")]
        await send_document(send, 200 if document else 404, document or b"", anyone)

    async def _stream(self, method: str, headers: Headers, receive: Receive, send: Send) -> None:
        if refused := check_method(method, headers) or check_types(method, headers):
            await send_refusal(send, refused)
        elif method == "GET":
            await self._sessions.get(headers, receive, send)
        elif method == "DELETE":
            await self._sessions.delete(headers, send)
        else:
            await self._post(headers, receive, send)

    async def _post(self, headers: Headers, receive: Receive, send: Send) -> None:
        body = await read_body(receive, self._settings.max_body)
        said = body if isinstance(body, Refusal) else read_post(headers, body)
        match self._permitted(headers, said):
            case Refusal() as refused:
                await send_refusal(send, refused)
            case Stateless(Request() as request):
                await self._posts.take(request, context_of(headers), receive, send)
            case Stateless():
                await send_document(send, 202, b"")  # no notification of this era has an effect here
            case Handshaken() as said:
                await self._sessions.post(said, headers, receive, send)

    async def _speak(self, old: SseSessions, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        body = await read_body(receive, self._settings.max_body)
        if isinstance(body, Refusal):
            await send_refusal(send, body)
        elif refused := check_types("POST", headers | {"accept": "*/*"}) or self._forbidden(headers, _messages(body)):
            await send_refusal(send, refused)
        else:
            await old.post(scope, headers, body, send)

    def _permitted(self, headers: Headers, said: Said) -> Said:
        """The messages, or the refusal if the token's scopes do not cover them."""
        if isinstance(said, Refusal):
            return said
        return self._forbidden(headers, said.messages if isinstance(said, Handshaken) else (said.message,)) or said

    def _forbidden(self, headers: Headers, messages: Iterable[Message]) -> Refusal | None:
        authorizer = self._settings.authorizer
        return authorizer.authorize(headers, messages) if authorizer else None


def _messages(body: bytes) -> tuple[Message, ...]:
    try:
        return (decode(body),)
    except MalformedMessage:
        return ()
