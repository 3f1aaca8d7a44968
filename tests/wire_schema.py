"""What the schema of each revision lets the two ends of MCP say: rules on single messages, with no memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

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

from agent.mcp.jsonrpc import Failure, Message, Notification, Request, Result
from agent.mcp.lifecycle import at_least

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
SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18", "tool_use": "2025-11-25", "tool_result": "2025-11-25"}
"""Kinds of content, which the official tables admit in every revision."""
STATELESS_ONLY = {"resultType", "ttlMs", "cacheScope"}


def faults(side: Side, revision: str, message: Message, asked: Request | None) -> list[str]:
    """What is wrong with a message that `side` sends; `asked` is the request that it answers."""
    try:
        found = list((_of_client if side == "client" else _of_server)(revision, message, asked))
    except KeyError:
        return [f"{revision} does not let the {side} say {message}"]
    except ValidationError as error:
        return [f"not valid for {revision}: {message}: {error}"]
    return [f"{fault} ({revision}): {message}" for fault in found]


def _of_client(revision: str, message: Message, asked: Request | None) -> Iterator[str]:
    match message:
        case Request(_, method, params) if method in TASK_EXTENSION and revision == STATELESS:
            if (params or {}).keys() != TASK_EXTENSION[method] | {"_meta"}:
                yield "not as the extension has it"
        case Request(_, method, params) if method in CORE_TASKS and revision == "2025-11-25":
            CORE_TASKS[method][0].model_validate({"method": method, "params": params}, by_name=False)
        case Request(_, method, params):
            methods.validate_client_request(method, revision, params)
        case Notification(method, params):
            methods.validate_client_notification(method, revision, params)
        case Result(_, value):
            assert asked, "who answers was asked"
            methods.validate_client_result(asked.method, revision, value)
            yield from _members(value, revision)
        case Failure(id):
            if id is None:
                yield "a client knows what it refuses"


def _of_server(revision: str, message: Message, asked: Request | None) -> Iterator[str]:
    match message:
        case Request(_, method, params):
            methods.parse_server_request(method, revision, params)
        case Notification("notifications/tasks", params) if revision == STATELESS:
            yield from _task((params or {}).keys())
        case Notification(method, params):
            methods.parse_server_notification(method, revision, params)
        case Result(_, value):
            assert asked, "who answers was asked"
            yield from _result(asked, revision, value)


def _result(asked: Request, revision: str, value: Any) -> Iterator[str]:
    """A task of the extension stands in for the result of a call."""
    if not isinstance(value, dict):
        yield "a result that is no object"
        return
    yield from _members(value, revision)
    if revision == STATELESS and asked.method in TASK_EXTENSION:
        if asked.method == "tasks/get":
            yield from _task(value.keys())
    elif revision == STATELESS and value.get("resultType") == "task":
        yield from _task(value.keys())
        if asked.method != "tools/call":
            yield "only a call becomes a task"
    elif asked.method in CORE_TASKS and revision == "2025-11-25":
        CORE_TASKS[asked.method][1].model_validate(value, by_name=False)
    elif revision == "2025-11-25" and asked.method == "tools/call" and "task" in (asked.params or {}):
        CreateTaskResult.model_validate(value, by_name=False)
    else:
        methods.validate_server_result(asked.method, revision, value)


def _task(members: Any) -> Iterator[str]:
    if missing := {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"} - members:
        yield f"a task without {sorted(missing)}"


def _members(value: dict[str, Any], revision: str) -> Iterator[str]:
    if revision == STATELESS and not isinstance(value.get("resultType", "complete"), str):
        yield "a result of no type"
    if revision != STATELESS and (newer := STATELESS_ONLY & value.keys()):
        yield f"{sorted(newer)} before their time"
    for block in _blocks(value):
        since = SINCE.get(str(block.get("type"))) if isinstance(block, dict) else None
        if since and not at_least(revision, since):
            yield f"{block['type']} before its time"


def _blocks(value: dict[str, Any]) -> Iterator[Any]:
    for holder in (value, *(value.get("messages") or ())):
        content = holder.get("content", ())
        yield from content if isinstance(content, list | tuple) else (content,)
