"""A server process that speaks TLS, and one that warns where it does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from agent.mcp.client.client import Client
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_run import UNENCRYPTED
from tests.mcp.transports.test_http_client_tls import certificate

__all__ = ["certificate"]

ROOT = Path(__file__).parents[3]


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "servers.demo", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def line(running: subprocess.Popen[str]) -> str:
    assert running.stderr
    return running.stderr.readline().strip()


@pytest.mark.anyio
async def test_with_a_certificate_a_server_is_reached_by_https(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with process("--http", "127.0.0.1:0", "--tls-cert", str(certificate), "--tls-key", str(certificate)) as running:
        url = line(running)
        assert url.startswith("https://127.0.0.1:")
        with anyio.fail_after(20):
            async with Client(http(url)) as client:
                assert (await client.call_tool("add", {"a": 3, "b": 5})).structured_content == {"result": 8}


def test_on_every_address_without_one_a_server_warns() -> None:
    with process("--http", "0.0.0.0:0") as running:
        assert line(running).startswith("http://0.0.0.0:")
        assert line(running) == UNENCRYPTED


def test_without_a_host_only_this_machine_is_served() -> None:
    with process("--http", ":0") as running:
        assert line(running).startswith("http://127.0.0.1:")
