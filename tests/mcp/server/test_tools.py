"""Tools, as a client lists and calls them."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import anyio
import pytest

from agent.mcp import McpError, Server
from agent.mcp.jsonrpc import Request
from agent.mcp.lifecycle import HANDSHAKE_REVISIONS
from tests.mcp.raw_client import raw_client, text_of

pytestmark = pytest.mark.anyio


def a_server(**settings: Any) -> Server:
    server = Server("shop", version="2.1", **settings)

    @server.tool
    async def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    return server


async def test_a_tool_is_described_and_called() -> None:
    async with raw_client(a_server()) as client:
        assert await client.ask("tools/list") == {
            "tools": [
                {
                    "name": "add",
                    "description": "Add.",
                    "inputSchema": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
                        "required": ["a"],
                        "additionalProperties": False,
                    },
                    "outputSchema": {
                        "type": "object",
                        "properties": {"result": {"type": "integer"}},
                        "required": ["result"],
                    },
                }
            ]
        }
        assert await client.call("add", a=3, b=5) == {
            "content": [{"type": "text", "text": "8"}],
            "structuredContent": {"result": 8},
        }


async def test_a_definition_has_the_fields_its_revision_has() -> None:
    server = Server("full")
    icons = [{"src": "data:image/png;base64,AA=="}]

    @server.tool(name="n", title="T", description="D", annotations={"readOnlyHint": True}, icons=icons, meta={"k": 1})
    async def function() -> int:
        return 1

    seen = {}
    for revision in HANDSHAKE_REVISIONS:
        async with raw_client(server, revision) as client:
            (tool,) = (await client.ask("tools/list"))["tools"]
            seen[revision] = set(tool)
    oldest = {"name", "description", "inputSchema"}
    third = oldest | {"annotations", "title", "outputSchema", "_meta"}
    assert list(seen.values()) == [oldest, oldest | {"annotations"}, third, third | {"icons"}]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "add", "arguments": {"a": "three"}}, "a: Input should be a valid integer"),
        ({"name": "add"}, "a is missing"),
        ({"name": "add", "arguments": None}, "a is missing"),
        ({"name": "add", "arguments": {"a": 1, "c": 2}}, "c is not a parameter"),
    ],
)
async def test_wrong_arguments_are_a_result_the_model_can_read(params: dict[str, Any], words: str) -> None:
    async with raw_client(a_server()) as client:
        result = await client.ask("tools/call", params)
    assert result["isError"] is True
    assert text_of(result).startswith(f"Invalid arguments for add: {words}")


@pytest.mark.parametrize(
    "params",
    [None, {}, {"name": "nothing"}, {"name": 7}, {"name": None}, {"name": "add", "arguments": [1]}],
)
async def test_a_malformed_call_is_an_error(params: Any) -> None:
    async with raw_client(a_server()) as client:
        assert (await client.refusal("tools/call", params)).code == -32602


@pytest.mark.parametrize("code", [0, 3, "no such option"])
async def test_a_tool_that_ends_the_program_ends_its_call_alone(code: Any) -> None:
    server = a_server()

    @server.tool
    async def leave() -> None:
        sys.exit(code)

    @server.tool
    def leave_thread() -> None:
        sys.exit(code)

    @server.resource("door://out")
    def out() -> str:
        sys.exit(code)

    words = f"it tried to end the program (exit code {code})"
    async with raw_client(server) as client:
        for name in ("leave", "leave_thread"):
            assert await client.call(name) == {"content": [{"type": "text", "text": words}], "isError": True}
        assert (await client.refusal("resources/read", {"uri": "door://out"})).message.endswith(words)
        assert text_of(await client.call("add", a=1)) == "2"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
async def test_a_number_that_json_has_not_is_the_tools_fault(number: float) -> None:
    server = Server("odd")

    @server.tool
    async def measure() -> dict[str, list[float]]:
        return {"a": [1.5, number]}

    async with raw_client(server) as client:
        result = await client.call("measure")
    words = "measure returned NaN or an infinite number, which JSON has not."
    assert result == {"content": [{"type": "text", "text": words}], "isError": True}


async def test_what_a_tool_raises_is_a_result_without_a_traceback() -> None:
    server = Server("faulty")

    @server.tool
    async def worded() -> str:
        raise ValueError("the till is empty")

    @server.tool
    def silent() -> str:
        raise KeyError

    @server.tool
    async def grouped() -> str:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worded)
        return ""

    @server.tool
    async def missing() -> str:
        return {}["nope"]

    @server.tool
    async def lying() -> int:
        return "eight"  # type: ignore[return-value]

    async with raw_client(server) as client:
        said = {name: await client.call(name) for name in ("worded", "silent", "grouped", "missing", "lying")}
    assert [result["isError"] for result in said.values()] == [True] * 5
    assert [text_of(result) for result in said.values()] == [
        "the till is empty",
        "KeyError",
        "the till is empty",
        "KeyError: 'nope'",
        "lying returned what it does not declare: result: Input should be a valid integer, "
        "unable to parse string as an integer",
    ]


async def test_a_tool_may_answer_with_a_protocol_error() -> None:
    server = Server("strict")

    @server.tool
    async def refuse() -> str:
        raise McpError(-31000, "not today", {"why": "closed"})

    async with raw_client(server) as client:
        refusal = await client.refusal("tools/call", {"name": "refuse"})
    assert (refusal.code, refusal.message, refusal.data) == (-31000, "not today", {"why": "closed"})


async def test_a_plain_function_runs_in_a_thread_and_holds_nobody_up() -> None:
    server, gate = Server("threads"), threading.Event()

    @server.tool
    def wait() -> bool:
        return gate.wait(5)

    @server.tool
    async def open() -> None:
        gate.set()

    async with raw_client(server) as client:
        await client.say(Request(1, "tools/call", {"name": "wait"}))
        await client.call("open")
        result = await client.answer_to(1)
    assert result.value["structuredContent"] == {"result": True}  # type: ignore[union-attr]


class Box:
    async def size(self, unit: str = "cm") -> str:
        """How large."""
        return f"3 {unit}"


async def test_a_method_can_be_a_tool() -> None:
    server = Server("methods")
    server.tool(Box().size)
    async with raw_client(server) as client:
        assert text_of(await client.call("size", unit="mm")) == "3 mm"
