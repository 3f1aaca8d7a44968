"""Running registered functions in the stateless era: rounds of input requests, and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INTERNAL_ERROR, Params, Request
from agent.mcp.lifecycle import declares
from agent.mcp.protocol import ASKING, HEADER_MISMATCH, TASKS_EXTENSION
from agent.mcp.routing import mismatch
from agent.mcp.server.context import Context
from agent.mcp.server.dialogue import Caller, Dialogue
from agent.mcp.server.features import Tool
from agent.mcp.server.kept_tasks import require_tasks
from agent.mcp.server.ledger import Ledger
from agent.mcp.server.methods import serve
from agent.mcp.server.reentry import ReentryDialogue, Tell, run_round
from agent.mcp.server.service import Json, Life, Service


@dataclass(frozen=True, slots=True)
class Call:
    """One request with its caller; `context` is what the transport knows of it, `tell` notifies on its stream."""

    request: Request
    caller: Caller
    context: Mapping[str, Any]
    tell: Tell
    life: Life

    @property
    def params(self) -> Params:
        return self.request.params or {}

    @property
    def principal(self) -> str | None:
        """The authenticated caller, if there is authentication. Tasks and request state belong to one principal."""
        return self.context.get("principal")


async def answer_call(service: Service, call: Call) -> Json:
    """The result of a request that runs a registered function.

    Raises:
        McpError: method not found, invalid params, or an error that the function raised.
    """
    tool = _tool(service, call)
    may_begin = tool is not None and _may_begin(tool, call.caller)
    ledger, given = service.rounds.open(call.request.method, call.params, call.principal)
    if tool and may_begin and not tool.asks_first:
        return await _begin(service, call, ledger)
    dialogue = ReentryDialogue(ledger, given, call.tell, may_begin=may_begin)
    result = await run_round(dialogue, partial(_run, service, call, dialogue))
    if result is not None:
        return result
    if not dialogue.questions:
        return await _begin(service, call, ledger.again())
    if call.request.method not in ASKING:
        raise McpError(INTERNAL_ERROR, f"{call.request.method} cannot ask the client anything.")
    return service.rounds.close(ledger, dialogue.questions, call.request.method, call.params, call.principal)


async def _begin(service: Service, call: Call, ledger: Ledger) -> Json:
    return await service.tasks.begin(partial(_run, service, call), ledger, call.principal, call.life)


async def _run(service: Service, call: Call, dialogue: Dialogue) -> Json:
    context = Context(call.caller, dialogue, call.request, call.life.lifespan, call.context.get("token"))
    return await serve(service.catalogue, call.request.method, call.params, context)


def _tool(service: Service, call: Call) -> Tool | None:
    """The tool that is called, if there is one. Raises McpError if the headers do not mirror its arguments."""
    if call.request.method != "tools/call":
        return None
    tool = service.catalogue.tools.get(str(call.params.get("name")))
    headers, arguments = call.context.get("headers"), call.params.get("arguments")
    if tool and headers is not None and (fault := mismatch(arguments, tool.mirrored, headers)):
        raise McpError(HEADER_MISMATCH, f"The {fault}.")
    return tool


def _may_begin(tool: Tool, caller: Caller) -> bool:
    """Whether the call may become a task. Raises McpError if it must, and the client does not support it."""
    if tool.task == "required":
        require_tasks(caller.capabilities)
    return tool.task is not None and declares(caller.capabilities, "extensions", TASKS_EXTENSION)
