"""The stateless era of Streamable HTTP, the server's end: a POST is a connection, and closing it withdraws it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import ObjectStream

from agent.mcp.admission import STATUS, refusal
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, Failure, Request, Result, encode
from agent.mcp.transports.event_store import EventStream
from agent.mcp.transports.http_responses import Receive, Send, send_document, send_events, send_refusal, while_connected
from agent.mcp.transports.http_sessions import COMMIT_SECONDS, Serves, serve_contained


class PostChannel(ObjectStream[Any]):
    """The one request comes in; what is said about it goes out on `stream`."""

    def __init__(self, request: Request, context: Mapping[str, Any]) -> None:
        self.stream, self.status = EventStream(), 200
        self._request = request
        self._inbox = [Envelope((request,), context=context)]
        self._more = anyio.Event()
        self._closed = False

    async def receive(self) -> Envelope:
        while not self._inbox:
            if self._closed:
                raise anyio.EndOfStream
            await self._more.wait()
        return self._inbox.pop()

    async def send(self, item: Envelope) -> None:
        for message in item.messages:
            match message:
                case Result() | Failure() if message.id == self._request.id:
                    data = encode(message)
                    if isinstance(message, Failure):
                        self.status = STATUS.get(message.code, 200)
                    await self.stream.append(data, answer=True)
                    self.stream.end()
                case Request(id=id):
                    self._refuse(Failure(id, METHOD_NOT_FOUND, "A client of this revision is not asked over HTTP."))
                case _ if item.about == self._request.id:
                    await self.stream.append(encode(message))

    async def send_eof(self) -> None:
        self.stream.end()

    async def aclose(self) -> None:
        self._closed = True
        self.stream.end()
        self._more.set()

    def _refuse(self, failure: Failure) -> None:
        self._inbox.append(Envelope((failure,)))
        self._more.set()
        self._more = anyio.Event()


async def serve_stateless(
    server: Serves, request: Request, context: Mapping[str, Any], receive: Receive, send: Send
) -> None:
    channel = PostChannel(request, context)
    stream = channel.stream
    async with while_connected(receive) as tasks:
        tasks.start_soon(serve_contained, server, channel)
        with anyio.move_on_after(COMMIT_SECONDS):
            await stream.settled()
        if not (stream.ended and stream.only_answers):
            await send_events(send, stream.read())
        elif answers := stream.all():
            await send_document(send, channel.status, answers[0])
        else:
            await send_refusal(send, refusal(500, INTERNAL_ERROR, "Internal error", request.id))
