"""Streamable HTTP of the handshake era, server side: sessions, and the requests that begin, use and end them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectStream, TaskGroup

from agent.mcp.admission import Handshaken, Headers, Refusal, refusal
from agent.mcp.background import background
from agent.mcp.envelope import Channel
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, Failure, Message, Params, Request, Result
from agent.mcp.lifecycle import at_least
from agent.mcp.protocol import RESUME_HEADER, SESSION_HEADER
from agent.mcp.sse import encode_event
from agent.mcp.transports.event_store import EventStream
from agent.mcp.transports.http_responses import (
    NOT_STARTED,
    Receive,
    Send,
    send_document,
    send_events,
    send_refusal,
    while_connected,
)
from agent.mcp.transports.http_session import HttpSession

logger = logging.getLogger(__name__)

Tell = Callable[[str, Params], Awaitable[None]]

COMMIT_SECONDS = 1.5  # of silence before a response becomes a stream, which can be kept alive and resumed
SWEEP_SECONDS = 60.0  # between two searches for idle sessions


class Serves(Protocol):
    """What HTTP needs of a server."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """The scope in which it serves."""
        ...

    async def serve(self, channel: Channel, /) -> None:
        """Serve one connection until it ends."""
        ...

    async def reply(self, request: Request, context: Mapping[str, Any], tell: Tell, /) -> Result | Failure:
        """Answer a request of the stateless era; `tell` sends the notifications that belong to it."""
        ...

    def end_subscriptions(self) -> None:
        """End all `subscriptions/listen` requests."""
        ...


async def serve_contained(server: Serves, channel: ObjectStream[Any]) -> None:
    """Serve one connection and close it. An exception of its lifespan must not end the others."""
    try:
        await server.serve(channel)
    except Exception:  # the server's lifespan may raise anything
        logger.exception("serving a client")
    finally:
        await channel.aclose()


class Sessions:
    """All sessions of an app. `retry` is the time in milliseconds after which a client should reconnect."""

    def __init__(self, server: Serves, limit: int, idle_seconds: float, retry: int) -> None:
        self._server, self._limit, self._idle_seconds, self._retry = server, limit, idle_seconds, retry
        self._sessions: dict[str, HttpSession] = {}
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The scope in which sessions live."""
        async with background() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._sweep)
            try:
                yield
            finally:
                self._tasks = None

    def end_all(self) -> None:
        for session in list(self._sessions.values()):
            session.close()

    async def post(self, said: Handshaken, headers: Headers, receive: Receive, send: Send) -> None:
        session = self._begin(headers.owner) if not said.batch and _begins(said.messages[0]) else self._find(headers)
        if isinstance(session, Refusal):
            await send_refusal(send, session)
        elif objection := _objection(session, said):
            await send_refusal(send, objection)
        else:
            with _in_use(session):
                stream = await session.post(said.messages, context_of(headers), batch=said.batch)
                await self._answer(session, stream, said.batch, receive, send)
            if not session.revision:
                session.close()  # the handshake failed

    async def get(self, headers: Headers, receive: Receive, send: Send) -> None:
        """The stream of unrelated messages, or the rest of another (section "Resumability and Redelivery")."""
        session, after = self._find(headers), headers.get(RESUME_HEADER)
        if isinstance(session, Refusal):
            await send_refusal(send, session)
            return
        with _in_use(session):
            if reader := session.listen(after):
                async with while_connected(receive):
                    await send_events(send, reader)
            else:
                await send_refusal(send, refusal(400, INVALID_REQUEST, f"There is no event {after!r} to resume from."))

    async def delete(self, headers: Headers, send: Send) -> None:
        session = self._find(headers)
        if isinstance(session, Refusal):
            await send_refusal(send, session)
        else:
            session.close()
            await send_document(send, 204, b"")

    async def _answer(
        self, session: HttpSession, stream: EventStream | None, batch: bool, receive: Receive, send: Send
    ) -> None:
        named = [(SESSION_HEADER.encode(), session.id.encode())]
        if not stream:
            await send_document(send, 202, b"")
            return
        with anyio.move_on_after(COMMIT_SECONDS):
            await stream.settled()
        if not (stream.ended and stream.only_answers):
            async with while_connected(receive):
                await send_events(send, stream.read(), self._opening(session, stream), named)
        elif answers := session.answered_at_once(stream):
            body = b"[" + b",".join(answers) + b"]" if batch else answers[0]
            await send_document(send, 200, body, named)
        elif session.is_closed:
            await send_refusal(send, refusal(404, INTERNAL_ERROR, "The session ended before there was an answer."))
        else:
            await send_document(send, 202, b"")  # the client withdrew its request

    def _opening(self, session: HttpSession, stream: EventStream) -> bytes:
        """The priming event, for clients that know events without data (since 2025-11-25)."""
        knows = at_least(session.revision, "2025-11-25")
        return encode_event(b"", id=stream.id_of(0), retry=self._retry) if knows else b""

    def _begin(self, owner: str) -> HttpSession | Refusal:
        if self._tasks is None:
            return NOT_STARTED
        if len(self._sessions) >= self._limit and not self._make_room():
            return refusal(503, INTERNAL_ERROR, "There are too many sessions; try again later.")
        session = HttpSession(secrets.token_urlsafe(24), owner)
        self._sessions[session.id] = session
        self._tasks.start_soon(self._serve, session)
        return session

    def _make_room(self) -> bool:
        """End the session that was idle for longest: most clients never delete theirs."""
        idle = [session for session in self._sessions.values() if not session.busy]
        if not idle:
            return False
        longest = min(idle, key=lambda session: session.used_at)
        del self._sessions[longest.id]
        longest.close()
        return True

    async def _serve(self, session: HttpSession) -> None:
        try:
            await serve_contained(self._server, session)
        finally:
            self._sessions.pop(session.id, None)

    def _find(self, headers: Headers) -> HttpSession | Refusal:
        id = headers.get(SESSION_HEADER)
        if id is None:
            return refusal(400, INVALID_REQUEST, "The Mcp-Session-Id header is missing; begin with initialize.")
        session = self._sessions.get(id)
        if session is None or session.is_closed or session.owner != headers.owner:
            return refusal(404, INVALID_REQUEST, "There is no such session; begin one with initialize.")
        return session

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(min(SWEEP_SECONDS, self._idle_seconds))
            for session in list(self._sessions.values()):
                if not session.busy and session.used_at + self._idle_seconds <= anyio.current_time():
                    session.close()


def context_of(headers: Headers) -> dict[str, Any]:
    """What is passed to the server with the message of a request."""
    return {"headers": headers, "principal": headers.owner or None, "token": headers.token}


@contextmanager
def _in_use(session: HttpSession) -> Iterator[None]:
    session.busy += 1
    try:
        yield
    finally:
        session.busy -= 1
        session.used_at = anyio.current_time()


def _begins(message: Message) -> bool:
    return isinstance(message, Request) and message.method == "initialize"


def _objection(session: HttpSession, said: Handshaken) -> Refusal | None:
    if said.batch and session.revision != "2025-03-26":
        return refusal(400, INVALID_REQUEST, "This revision of the protocol has no batches.")
    if said.batch and any(map(_begins, said.messages)):
        return refusal(400, INVALID_REQUEST, "A session does not begin in a batch.")
    ids = [message.id for message in said.messages if isinstance(message, Request)]
    if taken := [id for position, id in enumerate(ids) if session.is_owed(id) or id in ids[:position]]:
        return refusal(400, INVALID_REQUEST, f"Request id {taken[0]!r} is in use.", taken[0])
    return None
