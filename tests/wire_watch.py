"""Checks what our ends of MCP send against the schema of the revision they speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from anyio.abc import ObjectStream
from mcp_types import (
    CancelTaskRequest,
    CancelTaskResult,
    CreateTaskResult,
    GetTaskPayloadRequest,
    GetTaskPayloadResult,
    GetTaskRequest,
    GetTaskResult,
    methods,
)
from pydantic import BaseModel, ValidationError

from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from agent.mcp.routing import revision_of

STATELESS = "2026-07-28"
Side = Literal["client", "server"]

CORE_TASKS: Mapping[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "tasks/get": (GetTaskRequest, GetTaskResult),
    "tasks/result": (GetTaskPayloadRequest, GetTaskPayloadResult),
    "tasks/cancel": (CancelTaskRequest, CancelTaskResult),
}
"""Of 2025-11-25 alone; the official tables leave them out."""
TASK_EXTENSION = {"tasks/get": {"taskId"}, "tasks/update": {"taskId", "inputResponses"}, "tasks/cancel": {"taskId"}}
"""The params of the extension's requests, for which there are no official models."""


class WatchedChannel(ObjectStream[Any]):
    """A session's channel that notes in `faults` whatever the session says against the schema.

    In the handshake era it knows who is who by `initialize`; until that is answered nothing is checked. A message of
    the stateless era names its revision, and an answer has that of its question.
    """

    def __init__(self, channel: ObjectStream[Any], faults: list[str]) -> None:
        self._channel, self._faults = channel, faults
        self._side: Side | None = None
        self._revision: str | None = None
        self._is_stateless = False
        self._ours: dict[RequestId, Request] = {}
        self._theirs: dict[RequestId, Request] = {}

    async def send(self, item: Envelope) -> None:
        if item.batch and self._revision not in (None, "2025-03-26"):
            self._faults.append(f"a batch was sent in {self._revision}")
        for message in item.messages:
            if isinstance(message, Request):
                self._ours[message.id] = message
                self._meet(message, "client")
            self._learn(message, self._theirs)
            if revision := self._revision_of(message):
                self._check(message, revision)
        await self._channel.send(item)

    async def receive(self) -> Any:
        item = await self._channel.receive()
        for message in item.messages if isinstance(item, Envelope) else ():
            if isinstance(message, Request):
                self._theirs[message.id] = message
                self._meet(message, "server")
            self._learn(message, self._ours)
        return item

    async def send_eof(self) -> None:
        await self._channel.send_eof()

    async def aclose(self) -> None:
        await self._channel.aclose()

    def _meet(self, request: Request, side: Side) -> None:
        if request.method == "initialize":
            self._side, self._is_stateless = side, False
        elif revision_of(request) == STATELESS:
            self._side, self._is_stateless = side, self._revision is None

    def _learn(self, message: Message, asked: dict[RequestId, Request]) -> None:
        match message:
            case Result(id, {"protocolVersion": revision}) if id in asked and asked[id].method == "initialize":
                self._revision = revision if revision in HANDSHAKE_REVISIONS else None

    def _revision_of(self, message: Message) -> str | None:
        """Of a message of ours; None if it is not to be checked."""
        asked = message if isinstance(message, Request) else None
        if isinstance(message, Result | Failure) and message.id is not None:
            asked = self._theirs.get(message.id)
        named = revision_of(asked)
        if named is None and isinstance(message, Notification):
            named = STATELESS if self._is_stateless else None
        return named if named == STATELESS else self._revision

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
            case Request(_, method, params) if method in TASK_EXTENSION and revision == STATELESS:
                if (params or {}).keys() != TASK_EXTENSION[method] | {"_meta"}:
                    self._faults.append(f"not as the extension has it: {message}")
            case Request(_, method, params) if method in CORE_TASKS and revision == "2025-11-25":
                CORE_TASKS[method][0].model_validate({"method": method, "params": params}, by_name=False)
            case Request(_, method, params):
                methods.validate_client_request(method, revision, params)
            case Notification(method, params):
                methods.validate_client_notification(method, revision, params)
            case Result(id, value):
                methods.validate_client_result(self._theirs[id].method, revision, value)
            case Failure(id):
                assert id is not None, "a client knows what it refuses"

    def _check_server(self, message: Message, revision: str) -> None:
        match message:
            case Request(_, method, params):
                methods.parse_server_request(method, revision, params)
            case Notification("notifications/tasks", _) if revision == STATELESS:
                pass
            case Notification(method, params):
                methods.parse_server_notification(method, revision, params)
            case Result(id, dict(value)):
                self._check_result(self._theirs[id], revision, value)

    def _check_result(self, asked: Request, revision: str, value: dict[str, Any]) -> None:
        """A task of the extension stands in for the result of a call; its own results are checked where it is."""
        in_extension = asked.method in TASK_EXTENSION or value.get("resultType") == "task"
        if revision == STATELESS and in_extension:
            if "resultType" not in value:
                self._faults.append(f"a result without its type: {value}")
        elif asked.method in CORE_TASKS and revision == "2025-11-25":
            CORE_TASKS[asked.method][1].model_validate(value, by_name=False)
        elif revision == "2025-11-25" and asked.method == "tools/call" and "task" in (asked.params or {}):
            CreateTaskResult.model_validate(value, by_name=False)
        else:
            methods.validate_server_result(asked.method, revision, value)
