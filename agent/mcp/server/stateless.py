"""Requests of the stateless era (2026-07-28), which carry everything that is needed to answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, Failure, Request, Result
from agent.mcp.lifecycle import STATELESS_REVISIONS, declares
from agent.mcp.protocol import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    REVISION_KEY,
    SERVER_KEY,
    TASKS_EXTENSION,
    UNSUPPORTED_REVISION,
)
from agent.mcp.server.dialogue import LEVELS, Caller
from agent.mcp.server.kept_tasks import require_tasks
from agent.mcp.server.listening import Listening
from agent.mcp.server.reentry import Tell
from agent.mcp.server.service import Json, Life, Service
from agent.mcp.server.stateless_calls import Call, answer_call
from agent.mcp.session import outcome_of


class Stateless:
    """Answers the stateless requests of one connection, or of HTTP. Its only state are the open subscriptions."""

    def __init__(self, service: Service, life: Life) -> None:
        self._service, self._life = service, life
        self.listening = Listening(service)

    async def reply(self, request: Request, context: Mapping[str, Any], tell: Tell) -> Result | Failure:
        """The response to a request that belongs to no session."""
        return await outcome_of(request, self.answer(request, context, tell))

    async def answer(self, request: Request, context: Mapping[str, Any], tell: Tell) -> Json:
        """The result of a request. Raises McpError."""
        caller = read_caller((request.params or {}).get("_meta"))
        call = Call(request, caller, context, tell, self._life)
        match request.method:
            case "server/discover":
                result = self._discover(caller)
            case "subscriptions/listen":
                result = await self.listening.listen(call)
            case "tasks/get" | "tasks/update" | "tasks/cancel" if self._keeps_tasks(caller):
                result = await self._ask_task(call)
            case _:
                result = await answer_call(self._service, call)
        return self._completed(request.method, result, caller.revision)

    def _completed(self, method: str, result: Json, revision: str) -> Json:
        """The result with `resultType`, caching hints, and `serverInfo` in its `_meta`."""
        meta = {SERVER_KEY: self._service.identity.info(revision)} | result.get("_meta", {})
        hints = {} if "resultType" in result else self._service.caching.hints(method)
        return {"resultType": "complete", **result, **hints, "_meta": meta}

    def _discover(self, caller: Caller) -> Json:
        return {
            "supportedVersions": list(STATELESS_REVISIONS),
            "capabilities": self._service.catalogue.capabilities(caller.revision),
            **self._service.identity.hint(),
        }

    def _keeps_tasks(self, caller: Caller) -> bool:
        return declares(self._service.catalogue.capabilities(caller.revision), "extensions", TASKS_EXTENSION)

    async def _ask_task(self, call: Call) -> Json:
        require_tasks(call.caller.capabilities)
        tasks = self._service.tasks
        ask = {"tasks/get": tasks.get, "tasks/update": tasks.update, "tasks/cancel": tasks.cancel}
        return await ask[call.request.method](call.params, call.principal)


def is_stateless(request: Request) -> bool:
    """Whether a request has any key of the envelope; if another is missing, it is refused for that."""
    meta = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and (REVISION_KEY in meta or CAPABILITIES_KEY in meta)


def read_caller(meta: Any) -> Caller:
    """The caller from the `_meta` of a request.

    Raises:
        McpError: a required key is missing or invalid, or the revision is unsupported.
    """
    said: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
    revision, capabilities, level = said.get(REVISION_KEY), said.get(CAPABILITIES_KEY), said.get(LOG_LEVEL_KEY)
    if REVISION_KEY in said and not isinstance(revision, str):
        raise McpError(INVALID_PARAMS, f"{REVISION_KEY} must be a string.")
    if (
        REVISION_KEY in said and revision not in STATELESS_REVISIONS
    ):  # checked first: other revisions may have other keys
        data = {"supported": list(STATELESS_REVISIONS), "requested": revision}
        raise McpError(UNSUPPORTED_REVISION, "This server does not speak that revision of the protocol.", data)
    if missing := [key for key in (REVISION_KEY, CAPABILITIES_KEY) if key not in said]:
        raise McpError(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    if not isinstance(capabilities, dict):
        raise McpError(INVALID_PARAMS, f"{CAPABILITIES_KEY} must be an object.")
    if level is not None and level not in LEVELS:
        raise McpError(INVALID_PARAMS, f"{LOG_LEVEL_KEY} must be one of {', '.join(LEVELS)}.")
    info = said.get(CLIENT_KEY)
    return Caller(str(revision), capabilities, info if isinstance(info, dict) else {}, level)
