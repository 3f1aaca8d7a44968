"""A server as an HTTP process: its URL, its end, and a real uvicorn between both ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from agent.mcp.client.client import Client
from agent.mcp.server.server import Server
from agent.mcp.transports import http_run
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_run import run_http
from agent.mcp.transports.http_server import asgi_app

ROOT = Path(__file__).parents[3]
SCRIPT = """
import sys
from agent.mcp.server.context import Context
from agent.mcp.server.server import Server
from agent.mcp.transports.http_run import HttpOptions, run_http

server = Server("hello")

@server.tool
async def greet(ctx: Context, name: str) -> str:
    await ctx.progress(1)
    return f"Hello, {name}!"

try:
    run_http(server, sys.argv[1], 0, HttpOptions(sse=True))
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@contextmanager
def process(host: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", SCRIPT, host]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr
            yield running, running.stderr.readline().strip()
        finally:
            running.kill()


async def greet(url: str) -> str:
    with anyio.fail_after(20):
        async with Client(http(url)) as client:
            result = await client.call_tool("greet", {"name": "Ana"}, progress=lambda *_: None)
            return result.content[0].text  # type: ignore[union-attr]


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_a_process_serves_at_the_url_it_prints(path: str) -> None:
    with process("127.0.0.1") as (_, url):
        assert url.startswith("http://127.0.0.1:")
        assert await greet(url.removesuffix("/mcp") + path) == "Hello, Ana!"


@pytest.mark.anyio
@pytest.mark.parametrize(("interrupt", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
async def test_a_process_ends_at_once_and_in_silence_although_a_client_listens(interrupt: int, code: int) -> None:
    with process("127.0.0.1") as (running, url):
        async with Client(http(url)) as client:
            await client.ping()
            running.send_signal(interrupt)
            with anyio.fail_after(10):
                assert await anyio.to_thread.run_sync(running.wait) == code
        assert running.stderr
        assert running.stderr.read() == ""


@pytest.mark.anyio
async def test_who_never_says_what_they_want_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_run, "HEAD_SECONDS", 0.05)
    with http_run.listen("127.0.0.1", 0) as listening:
        served = http_run.uvicorn_server(asgi_app(Server("patient")))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.serve, [listening])
            async with await anyio.connect_tcp(*listening.getsockname()) as stream:
                await stream.send(b"POST /mcp HTTP/1.1\r\nhost: loc")
                with anyio.fail_after(5), pytest.raises(anyio.EndOfStream):
                    await stream.receive()
            async with Client(http(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")) as client:
                await client.ping()
            served.should_exit = True


def test_a_port_in_use_is_the_callers_to_explain() -> None:
    with process("127.0.0.1") as (_, url):
        port = int(url.rpartition(":")[2].removesuffix("/mcp"))
        with pytest.raises(OSError, match="in use"):
            run_http(Server("second"), "127.0.0.1", port)
