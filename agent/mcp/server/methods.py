"""The methods that are the same in both eras: lists, calls, reads, completions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Params
from agent.mcp.lifecycle import NEEDED, at_least
from agent.mcp.protocol import RESOURCE_NOT_FOUND
from agent.mcp.server.catalogue import Catalogue, Listed
from agent.mcp.server.context import Context
from agent.mcp.server.signature import Json

COMPLETIONS_SHOWN = 100  # values of one completion, at most (section "Utilities, Completion")


async def serve(catalogue: Catalogue, method: str, params: Params, context: Context) -> Json:
    """The result of a request.

    Raises:
        McpError: method not found, invalid params, or an error that the registered function raised.
    """
    answer = _ANSWERS.get(method)
    if answer is None or not catalogue.has(NEEDED[method][0]):
        raise McpError(METHOD_NOT_FOUND, f"Method not found: {method}")
    return await answer(catalogue, params, context)


def _listing(kind: str, entries: Callable[[Catalogue, str], Iterable[Listed]]) -> Answer:
    async def answer(catalogue: Catalogue, params: Params, context: Context) -> Json:
        revision = context.revision
        return catalogue.page(kind, list(entries(catalogue, revision)), params.get("cursor"), revision)

    return answer


async def _call_tool(catalogue: Catalogue, params: Params, context: Context) -> Json:
    name = _text(params, "name")
    if (tool := catalogue.tools.get(name)) is None:
        raise McpError(INVALID_PARAMS, f"Unknown tool: {name}")
    if tool.task == "required" and not at_least(context.revision, "2026-07-28"):
        raise McpError(METHOD_NOT_FOUND, f"{name} runs only as a task, which needs revision 2026-07-28.")
    return await tool.call(_object(params, "arguments"), context)


async def _read_resource(catalogue: Catalogue, params: Params, context: Context) -> Json:
    uri = _text(params, "uri")
    found = catalogue.find_resource(uri)
    contents = None if found is None else await found[0].read(uri, found[1], context)
    if contents is None:
        code = INVALID_PARAMS if at_least(context.revision, "2026-07-28") else RESOURCE_NOT_FOUND
        raise McpError(code, f"Resource not found: {uri}", {"uri": uri})
    return {"contents": contents}


async def _get_prompt(catalogue: Catalogue, params: Params, context: Context) -> Json:
    name = _text(params, "name")
    if (prompt := catalogue.prompts.get(name)) is None:
        raise McpError(INVALID_PARAMS, f"Unknown prompt: {name}")
    return await prompt.get(_object(params, "arguments"), context)


async def _complete(catalogue: Catalogue, params: Params, context: Context) -> Json:
    match params.get("ref"), params.get("argument"):
        case {"type": "ref/prompt", "name": str(of)}, {"name": str(argument), "value": str(value)}:
            known = of in catalogue.prompts
        case {"type": "ref/resource", "uri": str(of)}, {"name": str(argument), "value": str(value)}:
            known = of in catalogue.templates or of in catalogue.resources
        case _:
            raise McpError(INVALID_PARAMS, "completion/complete needs ref, and argument with name and value")
    if not known:
        raise McpError(INVALID_PARAMS, f"There is nothing to complete for {of}.")
    completion = catalogue.completions.get((of, argument))
    resolved = _object(_object(params, "context"), "arguments")
    found = await completion.values(value, resolved, context) if completion else []
    more = len(found) > COMPLETIONS_SHOWN
    return {"completion": {"values": found[:COMPLETIONS_SHOWN], "total": len(found), "hasMore": more}}


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise McpError(INVALID_PARAMS, f"{name} must be a string")
    return value


def _object(params: Params, name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise McpError(INVALID_PARAMS, f"{name} must be an object")
    return value or {}


Answer = Callable[[Catalogue, Params, Context], Awaitable[Json]]

_ANSWERS: Mapping[str, Answer] = {
    "tools/list": _listing("tools", Catalogue.listed_tools),
    "tools/call": _call_tool,
    "resources/list": _listing("resources", lambda catalogue, _: catalogue.resources.values()),
    "resources/templates/list": _listing("resourceTemplates", lambda catalogue, _: catalogue.templates.values()),
    "resources/read": _read_resource,
    "prompts/list": _listing("prompts", lambda catalogue, _: catalogue.prompts.values()),
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
}
