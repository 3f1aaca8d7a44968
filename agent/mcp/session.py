"""A session over a channel: the I/O around a Peer, with one reader, pending requests and running handlers.

The Peer interprets messages; this module has only what needs tasks and time. Three rules hold:

* There is one reader. It never awaits a handler, so that a request of the other side is served while one of ours is
  pending, and a cancellation is read while the handler that it cancels is running.
* Every handler has its own cancel scope (`inbound`), which the reader cancels when the request is cancelled.
* A caller that stops waiting sends `notifications/cancelled`, in a shielded scope with a timeout: sending may block.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from agent.mcp.background import background
from agent.mcp.batches import Batch
from agent.mcp.envelope import Channel, Closed, ConnectionLost, Envelope, Garbled, Inbound
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.inbound import InboundRequests
from agent.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Failure,
    Message,
    Notification,
    Params,
    Request,
    RequestId,
    Result,
)
from agent.mcp.peer import Answered, Asked, Peer, Progressed, Refused, Stray, Told, Withdrawn

logger = logging.getLogger(__name__)

FAREWELL_SECONDS = 0.4  # for sending on a connection that may block
REASON_SECONDS = 2.0  # for the reader to find out why sending failed

CLOSED = "The connection is closed."

OnProgress = Callable[[Params], None]
OnSending = Callable[[RequestId], None]
Batching = Callable[[], bool]


class Handler(Protocol):
    """Handles the requests and notifications of the other side."""

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        """The result to respond with. Raises McpError to respond with an error."""

    def on_notification(self, notification: Notification) -> None:
        """Called in the order of arrival, and must not block."""

    def on_trouble(self, trouble: Garbled | Stray) -> None:
        """Called with input that is not a valid message, or with a response to no request. The session goes on."""


@dataclass(slots=True, eq=False)
class _Waiter:
    done: anyio.Event
    on_progress: OnProgress | None = None
    outcome: Result | Failure | Exception | None = None

    def settle(self, outcome: Result | Failure | Exception) -> None:
        """Set the outcome, unless there is one: the session may end after the response, before the caller resumes."""
        self.outcome = self.outcome or outcome
        self.done.set()


class Session:
    """Made by `open_session`. `heard` is set with the first message received, or when the connection is lost."""

    def __init__(
        self, channel: Channel, handler: Handler, tasks: TaskGroup, *, refuses_garbage: bool, batching: Batching
    ) -> None:
        self._channel, self._handler = channel, handler
        self._refuses_garbage, self._batching = refuses_garbage, batching
        self._peer = Peer()
        self._answers = True
        self._waiters: dict[RequestId, _Waiter] = {}
        self._inbound = InboundRequests(self._peer, tasks, self.handle, self._send)
        self._lost: str | None = None
        self.heard, self.closed = anyio.Event(), anyio.Event()

    async def request(
        self,
        method: str,
        params: Params | None = None,
        *,
        on_progress: OnProgress | None = None,
        on_sending: OnSending | None = None,
        about: RequestId | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send a request and wait for the result. Cancelling the caller cancels the request, except `initialize`.

        `on_sending` is called with its id before it is sent. `about` is the other side's request on whose stream it is
        sent, `context` is metadata for the transport.

        Raises:
            McpError: the other side answered with an error.
            Unreadable: its response could not be parsed, or is longer than the limit.
            ConnectionLost: the connection was lost, before or after the request was sent.
        """
        if self._lost:
            raise ConnectionLost(self._lost)
        request = self._peer.call(method, params, progress=on_progress is not None)
        waiter = self._waiters[request.id] = _Waiter(anyio.Event(), on_progress)
        if on_sending:
            on_sending(request.id)
        try:
            await self._send_request(request.id, Envelope((request,), about=about, context=context or {}))
            await waiter.done.wait()
        finally:
            del self._waiters[request.id]  # before any await, as the next line: it may be settled meanwhile
            goodbye = self._peer.abandon(request.id, "the caller no longer waits")
            if goodbye and method != "initialize" and not self._lost:
                with anyio.move_on_after(FAREWELL_SECONDS, shield=True):
                    await self._send_message(goodbye)
        match waiter.outcome:
            case Result(value=value):
                return value
            case Failure(code=code, message=message, data=data):
                raise McpError(code, message, data)
            case trouble:
                assert trouble, "a waiter is settled before it is woken"
                await anyio.lowlevel.checkpoint_if_cancelled()  # the caller may have been cancelled too
                raise trouble

    async def notify(self, method: str, params: Params | None = None, *, about: RequestId | None = None) -> None:
        """Send a notification. On a lost connection it is dropped."""
        await self._send_message(Notification(method, params), about)

    def stop_answering(self) -> None:
        """From now on drop the other side's requests: a client of the stateless era receives none."""
        self._answers = False

    async def idle(self) -> None:
        """Wait until no handler runs."""
        await self._inbound.idle()

    async def _send_message(self, message: Message, about: RequestId | None = None) -> None:
        await self._send(Envelope((message,), about=about))

    async def _send(self, item: Envelope) -> None:
        try:
            await self._channel.send(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("the connection closed before %d messages could be sent", len(item.messages))

    async def _send_request(self, id: RequestId, item: Envelope) -> None:
        try:
            await self._channel.send(item)
        except Exception as error:  # any error: a request that was not sent needs no cancellation
            self._peer.abandon(id, "it could not be sent")
            if not isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
                raise
            with anyio.move_on_after(REASON_SECONDS):  # the reader is about to learn the reason
                await self.closed.wait()
            raise ConnectionLost(self._lost or CLOSED) from error

    async def listen(self) -> None:
        """Read until the connection ends."""
        lost = CLOSED
        try:
            await self._receive(await self._channel.receive())
            self.heard.set()
            while True:
                await self._receive(await self._channel.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        except ConnectionLost as error:
            lost = str(error)
        finally:
            self._lost = lost
            self.heard.set()
            self.closed.set()
            for waiter in list(self._waiters.values()):
                waiter.settle(ConnectionLost(lost))

    async def _receive(self, item: Inbound) -> None:
        match item:
            case Envelope(messages=messages, batch=batch, context=context):
                if batch:
                    await self._receive_batch(messages, context)
                else:
                    for message in messages:
                        await self._dispatch(message, context)
            case Garbled():
                await self._on_unreadable(item)
            case Closed(about=about, error=error):
                if self._peer.awaits(about) and (waiter := self._waiters.get(about)):
                    self._peer.abandon(about, "its stream closed")
                    waiter.settle(error or ConnectionLost("The stream closed without an answer."))

    async def _receive_batch(self, messages: tuple[Message, ...], context: Mapping[str, Any]) -> None:
        if self._refuses_garbage and not self._batching():
            await self._refuse(Failure(None, INVALID_REQUEST, "This revision of the protocol has no batches."))
            return
        batch = Batch() if self._batching() else None
        for message in messages:
            if isinstance(message, Request) and message.method == "initialize":
                await self._refuse(Failure(message.id, INVALID_REQUEST, "A session does not begin in a batch."))
            else:
                await self._dispatch(message, context, batch)
        if batch:
            await self._inbound.answer_together(batch.seal())

    async def _dispatch(self, message: Message, context: Mapping[str, Any], batch: Batch | None = None) -> None:
        if isinstance(message, Request) and not self._answers:
            logger.debug("a request where the revision has none: %s", message.method)
            return
        match self._peer.receive(message):
            case Answered(id, outcome):
                if waiter := self._waiters.get(id):
                    waiter.settle(outcome)
            case Asked(request):
                self._inbound.start(request, context, batch)
            case Progressed(id, params):
                if (waiter := self._waiters.get(id)) and waiter.on_progress:
                    self._call_safely(waiter.on_progress, params)
            case Told(notification):
                self._call_safely(self._handler.on_notification, notification)
            case Withdrawn(id, reason):
                self._inbound.withdraw(id, reason)
            case Refused(reply):
                await self._refuse(reply)
            case Stray() as stray:
                self._call_safely(self._handler.on_trouble, stray)

    async def _on_unreadable(self, item: Garbled) -> None:
        """Refuse an invalid request, or settle the request that an invalid response belongs to."""
        if self._refuses_garbage or item.kind == "request":
            await self._refuse(Failure(item.id if item.kind == "request" else None, item.code, item.reason))
        else:
            any_of_them = item.lost and item.id is None
            for id, waiter in list(self._waiters.items()):
                if any_of_them or (id == item.id and self._peer.awaits(id)):
                    self._peer.abandon(id, item.reason)
                    waiter.settle(Unreadable(f"The answer could not be read: {item.reason}."))
        self._call_safely(self._handler.on_trouble, item)

    async def _refuse(self, reply: Failure) -> None:
        """Send an error from the reader, with a timeout: a peer that does not read must not block the reader."""
        if self._answers:
            with anyio.move_on_after(FAREWELL_SECONDS):
                await self._send_message(reply)

    async def handle(self, request: Request, context: Mapping[str, Any]) -> Result | Failure:
        """The handler's response to a request."""
        return await outcome_of(request, self._handler.on_request(request, context))

    def _call_safely(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Call it and log its exceptions, which must not end the reader."""
        try:
            callback(*arguments)
        except Exception:
            logger.exception("in a callback")


async def outcome_of(request: Request, result: Awaitable[Any]) -> Result | Failure:
    """The response to a request whose result is awaited. An exception becomes an error response."""
    try:
        return Result(request.id, await result)
    except McpError as error:
        return Failure(request.id, error.code, error.message, error.data)
    except Exception:
        logger.exception("handling %s", request.method)
        return Failure(request.id, INTERNAL_ERROR, "Internal error")


@asynccontextmanager
async def open_session(
    channel: Channel, handler: Handler, *, refuses_garbage: bool = False, batching: Batching = lambda: True
) -> AsyncIterator[Session]:
    """A session over an open channel. Leaving it cancels the reader and every handler; no more responses are sent.

    `refuses_garbage`: respond to an invalid message with an error, as a server should. `batching`: if batches exist.
    """
    async with background() as tasks:
        session = Session(channel, handler, tasks, refuses_garbage=refuses_garbage, batching=batching)
        tasks.start_soon(session.listen)
        yield session
