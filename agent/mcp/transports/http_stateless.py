"""Streamable HTTP of the stateless era, server side: independent POSTs, cancelled by closing their connection."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from agent.mcp.admission import STATUS
from agent.mcp.background import background
from agent.mcp.jsonrpc import INTERNAL_ERROR, Failure, Notification, Params, Request, Result, encode
from agent.mcp.sse import KEEPALIVE, encode_event
from agent.mcp.task_pool import TaskPool
from agent.mcp.transports.http_responses import (
    EVENT_LINES,
    NOT_STARTED,
    Receive,
    Send,
    disconnected,
    send_document,
    send_part,
    send_refusal,
)
from agent.mcp.transports.http_sessions import Serves

logger = logging.getLogger(__name__)

KEEPALIVE_SECONDS = 15.0  # of silence before a response becomes a stream, and between keep-alives
STALL_SECONDS = 30.0  # for a client to read what is sent


class Posts:
    """All requests that are open."""

    def __init__(self, server: Serves) -> None:
        self._server = server
        self._pool: TaskPool | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with background() as tasks:
            self._pool = TaskPool(tasks)
            try:
                yield
            finally:
                self._pool = None

    async def take(self, request: Request, context: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if self._pool is None:
            await send_refusal(send, NOT_STARTED)
            return
        post = Post(receive, send)
        self._pool.start(post.attend)
        try:
            with post.scope:
                await post.answer(await self._server.reply(request, context, post.tell))
        finally:
            post.is_over = True


class Post:
    """One request. The response is JSON, or a stream if notifications precede it; `scope` is that of its handler."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.scope, self.is_over = anyio.CancelScope(), False
        self._receive, self._send = receive, send
        self._is_stream = False
        self._turn = anyio.Lock(fast_acquire=True)

    async def attend(self) -> None:
        """Cancel the handler when the client disconnects; send keep-alives until then."""
        while not self.is_over:
            with anyio.move_on_after(KEEPALIVE_SECONDS):
                await disconnected(self._receive)
                self.scope.cancel()
                return
            await self._say(KEEPALIVE)

    async def tell(self, method: str, params: Params) -> None:
        """Send a notification on the response stream."""
        await self._say(encode_event(encode(Notification(method, params))))

    async def answer(self, reply: Result | Failure) -> None:
        reply, body = _encoded(reply)
        async with self._speaking():
            if self._is_stream:
                await send_part(self._send, encode_event(body), more=False)
            else:
                status = STATUS.get(reply.code, 200) if isinstance(reply, Failure) else 200
                await send_document(self._send, status, body)
            self.is_over = True

    async def _say(self, part: bytes) -> None:
        """Send part of the stream, and its head before the first."""
        async with self._speaking():
            if self.is_over:
                return
            if not self._is_stream:
                await self._send({"type": "http.response.start", "status": 200, "headers": EVENT_LINES})
                self._is_stream = True
            await send_part(self._send, part)

    @asynccontextmanager
    async def _speaking(self) -> AsyncIterator[None]:
        """Exclusive use of `send`; a client that does not read in time is treated as disconnected."""
        try:
            with anyio.fail_after(STALL_SECONDS):
                async with self._turn:
                    yield
        except OSError:
            self.scope.cancel()


def _encoded(reply: Result | Failure) -> tuple[Result | Failure, bytes]:
    try:
        return reply, encode(reply)
    except (TypeError, ValueError):  # the handler returned what JSON cannot represent
        logger.exception("writing the answer to %r", reply.id)
        failure = Failure(reply.id, INTERNAL_ERROR, "Internal error")
        return failure, encode(failure)
