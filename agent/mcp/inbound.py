"""Requests of the other side: each is handled in its own cancel scope, and gets one response, or none if cancelled.

The scope, not the handler, decides whether a response may still be sent: a handler can finish in the same iteration of
the event loop in which its request is cancelled.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from agent.mcp.batches import Batch, Reply
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import INTERNAL_ERROR, Failure, Request, RequestId, Result
from agent.mcp.peer import Peer
from agent.mcp.task_pool import TaskPool

logger = logging.getLogger(__name__)

Work = Callable[[Request, Mapping[str, Any]], Awaitable[Reply]]
"""Returns the response; exceptions of the handler are error responses."""
Send = Callable[[Envelope], Awaitable[None]]


class InboundRequests:
    def __init__(self, peer: Peer, tasks: TaskGroup, work: Work, send: Send) -> None:
        self._peer, self._pool, self._work, self._send = peer, TaskPool(tasks), work, send
        self._scopes: dict[RequestId, anyio.CancelScope] = {}
        self._running = 0
        self._idle: anyio.Event | None = None  # created when `idle` is called

    def start(self, request: Request, context: Mapping[str, Any], batch: Batch | None) -> None:
        if batch:
            batch.ask()
        scope = self._scopes[request.id] = anyio.CancelScope()
        self._pool.start(self._serve, request, context, scope, batch)

    def withdraw(self, id: RequestId, reason: str) -> None:
        logger.debug("request %r was withdrawn: %s", id, reason or "no reason was given")
        self._scopes[id].cancel()

    async def idle(self) -> None:
        """Wait until no request is being handled."""
        while self._running:
            self._idle = self._idle or anyio.Event()
            await self._idle.wait()

    async def _serve(
        self, request: Request, context: Mapping[str, Any], scope: anyio.CancelScope, batch: Batch | None
    ) -> None:
        outcome: Reply | None = None
        self._running += 1
        with scope:
            outcome = await self._work(request, context)
        if self._scopes.get(request.id) is scope:
            del self._scopes[request.id]
        withdrawn = scope.cancel_called
        await self._answer(self._settled(outcome) if outcome and not withdrawn else None, batch)
        self._running -= 1
        if self._idle and not self._running:
            self._idle.set()
            self._idle = None

    def _settled(self, outcome: Reply) -> Reply:
        match outcome:
            case Result(id, value):
                return self._peer.answer(id, value)
            case Failure(id, code, message, data):
                assert id is not None, "it answers a request"
                return self._peer.fail(id, code, message, data)

    async def _answer(self, reply: Reply | None, batch: Batch | None) -> None:
        if batch:
            await self.answer_together(batch.settle(reply))
        elif reply:
            await self._answer_alone(reply)

    async def answer_together(self, replies: tuple[Reply, ...]) -> None:
        if not replies:
            return
        try:
            await self._send(Envelope(replies, batch=True))
        except (TypeError, ValueError):  # JSON cannot represent one of them; the others are still sent
            for reply in replies:
                await self._answer_alone(reply)

    async def _answer_alone(self, reply: Reply) -> None:
        try:
            await self._send(Envelope((reply,), about=reply.id))
        except (TypeError, ValueError):  # the handler returned what JSON cannot represent
            logger.exception("writing the answer to %r", reply.id)
            await self._send(Envelope((Failure(reply.id, INTERNAL_ERROR, "Internal error"),), about=reply.id))
