"""The official TypeScript server as our client's peer, the official Inspector as our server's."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agent.mcp import Client, http, stdio
from tests.interop import npm

pytestmark = [pytest.mark.anyio, pytest.mark.long]

DEMO = (sys.executable, "-m", "servers.demo")
ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28", "auto": "2026-07-28"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def serving(port: int, *command: str, **variables: str) -> Iterator[None]:
    """A server in the background that says on stderr where it listens; ended with everything it started."""
    running = subprocess.Popen(
        command,
        env={**npm.environment(), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr is not None
    try:
        with running.stderr:
            assert any(str(port) in line for line in running.stderr), "it ended before it listened"
            yield
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(timeout=10)


async def use_everything(client: Client) -> None:
    heard: list[tuple[float, float | None]] = []
    tools = {tool.name for tool in await client.list_tools()}
    assert {"echo", "get-sum", "trigger-long-running-operation"} <= tools
    echoed = await client.call_tool("echo", {"message": "háló"})
    assert [block.text for block in echoed.content] == ["Echo: háló"]  # type: ignore[union-attr]
    await client.call_tool(
        "trigger-long-running-operation",
        {"duration": 0.2, "steps": 2},
        progress=lambda done, total, _: heard.append((done, total)),
    )
    assert heard == [(1, 2), (2, 2)]
    assert await client.list_prompts()
    resources = await client.list_resources()
    assert (await client.read_resource(str(resources[0].uri))).contents
    sampled = await client.call_tool("trigger-sampling-request", {"prompt": "Say it", "maxTokens": 10})
    assert "from our model" in str(sampled.content)


async def answer(method: str, params: Any) -> dict[str, Any]:
    if method == "roots/list":
        return {"roots": []}
    text = {"type": "text", "text": "from our model"}
    return {"role": "assistant", "content": text, "model": "ours", "stopReason": "endTurn"}


async def test_our_client_uses_the_reference_server_over_stdio() -> None:
    node = str(npm.folder() / "node")
    script = str((npm.folder() / "mcp-server-everything").resolve())
    with anyio.fail_after(60):
        async with Client(stdio([node, script]), answer=answer) as client:
            assert client.revision == "2025-11-25"
            await use_everything(client)


async def test_our_client_uses_the_reference_server_over_http() -> None:
    port = free_port()
    everything = str(npm.folder() / "mcp-server-everything")
    with serving(port, everything, "streamableHttp", PORT=str(port)), anyio.fail_after(90):
        async with Client(http(f"http://127.0.0.1:{port}/mcp"), answer=answer) as client:
            await use_everything(client)


def inspect(*arguments: str) -> Any:
    return json.loads(npm.run("mcp-inspector", "--cli", *arguments))


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_uses_our_server_over_stdio(era: str) -> None:
    def use() -> None:
        ask = (*DEMO, "--protocol-era", era, "--method")
        listed = inspect(*ask, "tools/list", "--strict")
        assert {"echo", "add", "long_task"} <= {tool["name"] for tool in listed["tools"]}
        called = inspect(*ask, "tools/call", "--tool-name", "add", "--tool-arg", "a=3", "b=5")
        assert called["structuredContent"] == {"result": 8}
        read = inspect(*ask, "resources/read", "--uri", "file:///data/readme.txt")
        assert read["contents"][0]["mimeType"] == "text/plain"
        got = inspect(*ask, "prompts/get", "--prompt-name", "code_review", "--prompt-args", "code=x", "focus=style")
        assert "style" in got["messages"][0]["content"]["text"]

    await anyio.to_thread.run_sync(use)


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_uses_our_server_over_http(era: str) -> None:
    port = free_port()
    with serving(port, *DEMO, "--http", f"127.0.0.1:{port}"), anyio.fail_after(120):
        where = (f"http://127.0.0.1:{port}/mcp", "--transport", "http", "--protocol-era", era)

        def use() -> None:
            called = inspect(*where, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=ü")
            assert called["content"] == [{"type": "text", "text": "ü"}]

        await anyio.to_thread.run_sync(use)
