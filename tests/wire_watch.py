"""Checks what our ends of MCP send against the schema of the revision they agreed on."""

from __future__ import annotations

from typing import Any, Literal

from anyio.abc import ObjectStream
from mcp_types import methods
from pydantic import ValidationError

from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS


class WatchedChannel(ObjectStream[Any]):
    """A session's channel that notes in `faults` whatever the session says against the schema.

    It knows who is who by `initialize`; until that is answered, and on channels without it, nothing is checked.
    """

    def __init__(self, channel: ObjectStream[Any], faults: list[str]) -> None:
        self._channel, self._faults = channel, faults
        self._side: Literal["client", "server"] | None = None
        self._revision: str | None = None
        self._ours: dict[RequestId, str] = {}
        self._theirs: dict[RequestId, str] = {}

    async def send(self, item: Envelope) -> None:
        if item.batch and self._revision not in (None, "2025-03-26"):
            self._faults.append(f"a batch was sent in {self._revision}")
        for message in item.messages:
            if isinstance(message, Request):
                self._ours[message.id] = message.method
                if message.method == "initialize":
                    self._side = "client"
            self._learn(message, self._theirs)
            if self._revision:
                self._check(message, self._revision)
        await self._channel.send(item)

    async def receive(self) -> Any:
        item = await self._channel.receive()
        for message in item.messages if isinstance(item, Envelope) else ():
            if isinstance(message, Request):
                self._theirs[message.id] = message.method
                if message.method == "initialize":
                    self._side = "server"
            self._learn(message, self._ours)
        return item

    async def send_eof(self) -> None:
        await self._channel.send_eof()

    async def aclose(self) -> None:
        await self._channel.aclose()

    def _learn(self, message: Message, asked: dict[RequestId, str]) -> None:
        match message:
            case Result(id, {"protocolVersion": revision}) if asked.get(id) == "initialize":
                self._revision = revision if revision in HANDSHAKE_REVISIONS else None

    def _check(self, message: Message, revision: str) -> None:
        try:
            if self._side == "client":
                self._check_client(message, revision)
            else:
                self._check_server(message, revision)
        except KeyError:
            self._faults.append(f"{revision} does not let the {self._side} say {message}")
        except ValidationError as error:
            self._faults.append(f"not valid for {revision}: {message}: {error}")

    def _check_client(self, message: Message, revision: str) -> None:
        match message:
            case Request(_, method, params):
                methods.validate_client_request(method, revision, params)
            case Notification(method, params):
                methods.validate_client_notification(method, revision, params)
            case Result(id, value):
                methods.validate_client_result(self._theirs[id], revision, value)
            case Failure(id):
                assert id is not None, "a client knows what it refuses"

    def _check_server(self, message: Message, revision: str) -> None:
        match message:
            case Request(_, method, params):
                methods.parse_server_request(method, revision, params)
            case Notification(method, params):
                methods.parse_server_notification(method, revision, params)
            case Result(id, value):
                methods.validate_server_result(self._theirs[id], revision, value)
