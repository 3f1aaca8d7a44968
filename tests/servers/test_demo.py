"""The demo server, as a host sees it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from agent.mcp import Client, McpError, memory
from servers.demo import BOOKINGS, server

pytestmark = pytest.mark.anyio

Answer = Callable[[str, dict[str, Any]], Awaitable[Any]]
ALL = {"sampling": {"tools": {}}, "elicitation": {"form": {}}, "roots": {}}


def client(answer: Answer | None = None, **more: Any) -> Client:
    return Client(memory(server), answer=answer, capabilities=ALL, **more)


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


def test_it_starts_with_little() -> None:
    program = "import sys, servers.demo; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=20)
    heavy = {"pydantic", "mcp_types", "jsonschema", "httpx2", "starlette", "uvicorn", "rich", "openai", "mcp"}
    assert not heavy & set(loaded.stdout.split())
    assert not [name for name in loaded.stdout.split() if name.startswith(("agent.host", "agent.ui", "agent.chat"))]


async def test_it_shows_one_of_everything() -> None:
    async with client() as demo:
        tools = {tool.name: tool for tool in await demo.list_tools()}
        assert list(tools) == ["echo", "add", "long_task", "book_seat", "link_account", "summarize", "plan_trip"]
        assert all(tool.description for tool in tools.values())
        assert tools["add"].output_schema == {
            "type": "object",
            "properties": {"result": {"type": "integer"}},
            "required": ["result"],
        }
        (prompt,) = await demo.list_prompts()
        assert [(argument.name, argument.required) for argument in prompt.arguments or ()] == [
            ("code", True),
            ("focus", False),
        ]
        assert [resource.uri for resource in await demo.list_resources()] == [
            "file:///data/readme.txt",
            "demo://bookings",
        ]
        assert [found.uri_template for found in await demo.list_resource_templates()] == ["demo://sights/{city}"]


async def test_its_plain_tools_answer() -> None:
    async with client() as demo:
        assert text_of(await demo.call_tool("echo", {"message": "hé"})) == "hé"
        result = await demo.call_tool("add", {"a": 3, "b": 5})
        assert (text_of(result), result.structured_content) == ("8", {"result": 8})


async def test_a_long_task_reports_and_can_be_cancelled() -> None:
    heard: list[tuple[float, float | None, str]] = []

    def note(done: float, total: float | None, message: str) -> None:
        heard.append((done, total, message))

    async with client() as demo:
        result = await demo.call_tool("long_task", {"seconds": 0, "steps": 2}, progress=note)
        assert text_of(result) == "Done: 2 steps in 0 seconds."
        assert heard == [(1, 2, "step 1 of 2"), (2, 2, "step 2 of 2")]
        with anyio.fail_after(5):
            with anyio.move_on_after(0.05) as scope:
                await demo.call_tool("long_task", {"seconds": 60, "steps": 60})
            assert scope.cancelled_caught
            assert text_of(await demo.call_tool("echo", {"message": "still here"})) == "still here"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"action": "accept", "content": {"place": "window"}}, "Booked on ICE 1: window, without a meal."),
        ({"action": "decline"}, "No seat was booked on ICE 1."),
        ({"action": "cancel"}, "No seat was booked on ICE 1."),
    ],
)
async def test_a_seat_is_booked_by_the_person(answer: dict[str, Any], words: str) -> None:
    async def person(method: str, params: dict[str, Any]) -> Any:
        assert method == "elicitation/create"
        assert params["message"] == "Which seat on ICE 1?"
        return answer

    async with client(person) as demo:
        assert text_of(await demo.call_tool("book_seat", {"train": "ICE 1"})) == words
    BOOKINGS.clear()


async def test_a_booking_is_announced_to_who_subscribed() -> None:
    heard: list[Any] = []
    told = anyio.Event()

    def note(method: str, params: Any) -> None:
        heard.append((method, params))
        if method == "notifications/resources/updated":
            told.set()

    async def person(method: str, params: dict[str, Any]) -> Any:
        return {"action": "accept", "content": {"place": "aisle", "meal": True}}

    async with client(person, on_notification=note, protocol="2025-11-25") as demo:
        await demo.subscribe("demo://bookings")
        await demo.call_tool("book_seat", {"train": "ICE 2"})
        with anyio.fail_after(5):
            await told.wait()
        (contents,) = (await demo.read_resource("demo://bookings")).contents
        assert contents.text == '["ICE 2: aisle, with a meal"]'  # type: ignore[union-attr]
    assert ("notifications/message", {"level": "info", "data": "seats booked: 1"}) in heard
    BOOKINGS.clear()


async def test_a_text_is_summarized_by_the_clients_model() -> None:
    async def model(method: str, params: dict[str, Any]) -> Any:
        assert params["messages"][0]["content"]["text"] == "Summarize in one sentence:\n\nlong"
        text = {"type": "text", "text": "Short."}
        return {"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}

    async with client(model) as demo:
        assert text_of(await demo.call_tool("summarize", {"text": "long"})) == "Short."


async def test_a_trip_is_planned_with_tools() -> None:
    asked: list[dict[str, Any]] = []

    async def model(method: str, params: dict[str, Any]) -> Any:
        asked.append(params)
        if len(asked) == 1:
            uses = [
                {"type": "tool_use", "id": name, "name": name, "input": {"city": "Oslo"}}
                for name in ("weather", "sights")
            ]
            return {"role": "assistant", "content": uses, "model": "m", "stopReason": "toolUse"}
        text = {"type": "text", "text": "See the Opera House."}
        return {"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}

    async with client(model) as demo:
        assert text_of(await demo.call_tool("plan_trip", {"city": "Oslo"})) == "See the Opera House."
    weather, sights = asked[1]["messages"][2]["content"]
    assert weather["content"][0]["text"].startswith("Oslo: ")
    assert sights["content"] == [{"type": "text", "text": '["Opera House"]'}]


ASKING = {
    "summarize": {"text": "x"},
    "plan_trip": {"city": "x"},
    "book_seat": {"train": "x"},
}


@pytest.mark.parametrize("tool", ASKING)
async def test_a_client_without_the_means_is_told(tool: str) -> None:
    async with client(protocol="2025-11-25") as demo:
        result = await demo.call_tool(tool, ASKING[tool])
    assert result.is_error
    assert text_of(result).startswith("This client does not offer ")
    async with client() as demo:
        with pytest.raises(McpError, match="This client does not offer ") as refused:
            await demo.call_tool(tool, ASKING[tool])
    assert refused.value.code == -32021


async def test_the_prompt_names_both_arguments() -> None:
    async with client() as demo:
        result = await demo.get_prompt("code_review", {"code": "print(1)", "focus": "style"})
        (message,) = result.messages
        assert message.role == "user"
        assert "print(1)" in message.content.text  # type: ignore[union-attr]
        assert "style" in message.content.text  # type: ignore[union-attr]


async def test_resources_are_read() -> None:
    async with client() as demo:
        (readme,) = (await demo.read_resource("file:///data/readme.txt")).contents
        assert readme.mime_type == "text/plain"
        (sights,) = (await demo.read_resource("demo://sights/Kyoto")).contents
        assert sights.text == '["Fushimi Inari","Nishiki Market"]'  # type: ignore[union-attr]
        with pytest.raises(McpError) as caught:
            await demo.read_resource("demo://sights/Atlantis")
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": "demo://sights/Atlantis"})
