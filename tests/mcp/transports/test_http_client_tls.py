"""The client's end of Streamable HTTP over TLS, with a certificate made here."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSListener, TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from agent.mcp.envelope import Closed, Envelope
from agent.mcp.jsonrpc import Request, Result
from agent.mcp.transports.http_client import http
from tests.mcp.scripted_http import result

pytestmark = pytest.mark.anyio

Serve = Callable[[TLSStream], Awaitable[None]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for 127.0.0.1 that vouches for itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mcp-chat test")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


async def answer(stream: TLSStream) -> None:
    async with stream:
        while b'"ping"' in await stream.receive():
            body = result()
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            await stream.send(b"content-length: %d\r\n\r\n%s" % (len(body), body))


@asynccontextmanager
async def listening(certificate: Path, serve: Serve = answer) -> AsyncIterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as plain, anyio.create_task_group() as tasks:
        listener = TLSListener(plain, context, standard_compatible=False)
        tasks.start_soon(listener.serve, serve)
        yield f"https://127.0.0.1:{plain.extra(SocketAttribute.local_port)}/mcp"
        tasks.cancel_scope.cancel()


async def failure(url: str) -> str:
    async with http(url) as channel:
        with anyio.fail_after(5):
            await channel.send(Envelope((Request(1, "ping"),)))
            closed = await channel.receive()
    assert isinstance(closed, Closed)
    return str(closed.error)


async def test_a_trusted_server_is_spoken_to(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with listening(certificate) as url, http(url) as channel:
        for _ in range(2):
            with anyio.fail_after(5):
                await channel.send(Envelope((Request(1, "ping"),)))
                assert await channel.receive() == Envelope((Result(1, {}),), about=1)


async def test_an_untrusted_one_is_not(certificate: Path) -> None:
    async with listening(certificate) as url:
        assert (await failure(url)).startswith(f"The server at {url} has a certificate that is not trusted: self")


async def test_certificates_that_cannot_be_read_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    assert await failure("https://127.0.0.1:9/mcp") == (
        "The server at https://127.0.0.1:9/mcp cannot be asked: the certificates that SSL_CERT_FILE or SSL_CERT_DIR "
        "names cannot be used ([Errno 2] No such file or directory)."
    )


async def test_what_is_no_tls_in_the_middle_of_it_ends_its_request_alone(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def garble(stream: TLSStream) -> None:
        async with stream.transport_stream:
            await stream.receive()
            await stream.transport_stream.send(b"\x17\x03\x03\x00\x20" + b"x" * 32)

    async with listening(certificate, garble) as url, http(url) as channel:
        for _ in range(2):
            with anyio.fail_after(5):
                await channel.send(Envelope((Request(1, "ping"),)))
                closed = await channel.receive()
            assert isinstance(closed, Closed)
            assert str(closed.error).startswith(f"The server at {url} does not speak TLS as expected")
