"""A server process that speaks TLS, and one that warns where it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from agent.mcp.client.client import Client
from agent.mcp.transports.http_client import http
from agent.mcp.transports.http_run import ANY_HOST, UNENCRYPTED, Certificate
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
        assert [line(running), line(running)] == [UNENCRYPTED, ANY_HOST]


@pytest.mark.anyio
async def test_only_named_hosts_and_origins_are_answered_within_the_limits() -> None:
    named = ["--allow-host", "garden.example", "--allow-host", "B.example", "--allow-origin", "https://app.example"]
    with process("--http", "0.0.0.0:0", *named, "--burst", "6", "--per-second", "1") as running:
        port = line(running).rpartition(":")[2].removesuffix("/mcp")
        assert line(running) == UNENCRYPTED

        async def status(host: str, **more: str) -> int:
            answer = await web.post(f"http://127.0.0.1:{port}/mcp", content=b"{}", headers={"host": host, **more})
            return answer.status_code

        async with httpx2.AsyncClient() as web:
            with anyio.fail_after(20):
                assert [await status(host) for host in ("garden.example", f"b.example:{port}")] == [400, 400]
                assert await status("evil.example") == 403
                assert await status("garden.example", origin="https://app.example") == 400
                assert await status("garden.example", origin="https://evil.example") == 403
                assert await status(f"127.0.0.1:{port}", origin="http://127.0.0.1:1") == 400
                assert await status("garden.example") == 429


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (["chain"], "{0} cannot be used for TLS: it does not hold both a certificate and its key; name the file of"),
        (["chain", "key of another"], "{0} and {1} cannot be used for TLS: [X509: KEY_VALUES_MISMATCH] key values"),
        (["chain", "nothing"], "{0} and {1} cannot be used for TLS: they do not hold a certificate and its key in PEM"),
        (["nothing", "chain"], "{0} and {1} cannot be used for TLS: they do not hold a certificate and its key in PEM"),
    ],
)
def test_files_that_are_no_certificate_and_its_key_are_named(certificate: Path, files: list[str], reason: str) -> None:
    whole = certificate.read_text()
    key = re.search(r"-----BEGIN (?:\w+ )?PRIVATE KEY-----.*?-----END (?:\w+ )?PRIVATE KEY-----\n", whole, re.DOTALL)
    assert key
    private = ec.generate_private_key(ec.SECP256R1())
    another = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    made = {"chain": whole.replace(key[0], ""), "key of another": another, "nothing": "nothing\n"}
    paths = [certificate.parent / name.replace(" ", "-") for name in files]
    for path, name in zip(paths, files, strict=True):
        path.write_text(made[name])
    with pytest.raises(OSError, match=f"^{re.escape(reason.format(*paths))}"):
        Certificate(*map(str, paths)).check()


def test_a_key_may_be_in_the_file_of_its_certificate(certificate: Path) -> None:
    Certificate(str(certificate)).check()


def test_without_a_host_only_this_machine_is_served() -> None:
    with process("--http", ":0") as running:
        assert line(running).startswith("http://127.0.0.1:")
