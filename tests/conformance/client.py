"""The client that the official conformance suite examines: `python -m tests.conformance.client URL`.

The suite says in the environment what to do. It is written with the public names of `agent.mcp` alone, as anybody's
client would be.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from agent.mcp import Client, McpError, http

PATIENCE = 25.0  # seconds; the suite has 30
Json = Mapping[str, Any]
Act = Callable[[Client, Json], Awaitable[object]]
"""What to do with a server. The second argument is what the suite says about the scenario."""


async def list_only(client: Client, context: Json) -> None:
    await client.list_tools()


async def add_numbers(client: Client, context: Json) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def call_everything(client: Client, context: Json) -> None:
    """Whatever is offered is called, with the arguments that its schema demands."""
    for tool in await client.list_tools():
        await client.call_tool(tool.name, filled(tool.input_schema))


async def read_and_prompt_too(client: Client, context: Json) -> None:
    await call_everything(client, context)
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)
    for prompt in await client.list_prompts():
        arguments = {argument.name: "x" for argument in prompt.arguments or ()}
        await client.get_prompt(prompt.name, arguments)


async def replay(client: Client, context: Json) -> None:
    """The calls that the suite dictates, after one more list: nothing may be mirrored that was not learned."""
    await client.list_tools()
    for call in context.get("toolCalls", ()):
        await client.call_tool(call["name"], call.get("arguments"))


async def call_in_order(client: Client, context: Json) -> None:
    """The tools that ask, one after the other: no state of one may turn up in another."""
    for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        await client.call_tool(name)


async def echo_the_schema(client: Client, context: Json) -> None:
    """Send a schema back as it came."""
    [tool] = [tool for tool in await client.list_tools() if tool.name == "json_schema_2020_12_tool"]
    await client.call_tool("json_schema_echo", {"schema": tool.input_schema})


SCENARIOS: Mapping[str, Act] = {
    "initialize": list_only,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": call_everything,
    "sse-retry": call_everything,
    "request-metadata": call_everything,
    "http-standard-headers": read_and_prompt_too,
    "http-custom-headers": replay,
    "http-invalid-tool-headers": call_everything,
    "sep-2322-client-request-state": call_in_order,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_the_schema,
}
"""The scenarios of both versions of the suite for a client that nobody has to sign in for."""


async def answer(method: str, params: Json) -> Json:
    """A form is accepted with all its defaults; what has none is filled in."""
    if method != "elicitation/create":
        raise McpError(-1, "Nobody is here to agree to that.")
    if params.get("mode") == "url":
        return {"action": "decline"}
    return {"action": "accept", "content": defaults(params["requestedSchema"])}


def defaults(schema: Json) -> dict[str, Any]:
    properties: Json = schema.get("properties", {})
    required = schema.get("required", ())
    return {
        name: part["default"] if "default" in part else specimen(part)
        for name, part in properties.items()
        if "default" in part or name in required
    }


def filled(schema: Json) -> dict[str, Any]:
    properties: Json = schema.get("properties", {})
    return {name: specimen(properties.get(name, {})) for name in schema.get("required", ())}


def specimen(schema: Json) -> Any:
    """A value of the right kind."""
    kinds = {"boolean": True, "integer": 1, "number": 1.5, "array": [], "object": {}}
    return schema.get("enum", [kinds.get(schema.get("type", ""), "x")])[0]


async def run(url: str) -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or "auto"
    with anyio.fail_after(PATIENCE):
        if scenario.startswith("auth/"):
            from tests.conformance.auth_client import run_auth_scenario

            await run_auth_scenario(scenario, url, context, revision)
            return
        async with Client(http(url), answer=answer, capabilities={"elicitation": {}}, protocol=revision) as client:
            await SCENARIOS.get(scenario, call_everything)(client, context)


def main() -> None:
    anyio.run(run, sys.argv[-1])


if __name__ == "__main__":
    main()
