"""Running a server as an HTTP process, with uvicorn."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.mcp.admission import ANY, LOOPBACK
from agent.mcp.transports.http_limits import HEAD_LIMIT, Limited, Limits
from agent.mcp.transports.http_server import HttpApp, asgi_app

if TYPE_CHECKING:
    import uvicorn

    from agent.mcp.transports.http_sessions import Serves

PATH = "/mcp"
HEAD_SECONDS = 30.0  # for the first request head on a connection
GRACE_SECONDS = 2  # for pending responses at shutdown
EVERYWHERE = ("", "0.0.0.0", "::")
UNENCRYPTED = (
    "Warning: everybody on the way here can read, and change, what is said. Use --tls-cert and --tls-key, or 127.0.0.1."
)
ANY_HOST = (
    "Warning: every Host is answered, so web pages can reach this server by DNS rebinding. "
    "Name the hosts that are its own with --allow-host."
)
ONE_HOST = "Only requests to {host} are answered. Name other hosts that lead here with --allow-host."


@dataclass(frozen=True, slots=True)
class Certificate:
    """The PEM files for TLS: the certificate chain, and the key, unless it is in the same file."""

    chain: str
    key: str | None = None

    def check(self) -> None:
        """Raises OSError, whose text names the files."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.chain, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            files = " and ".join(filter(None, (self.chain, self.key)))
            raise OSError(f"{files} cannot be used for TLS: {self._reason(error)}") from error

    def _reason(self, error: OSError | ValueError) -> str:
        if not isinstance(error, ssl.SSLError) or error.reason == "KEY_VALUES_MISMATCH":
            return str(error)
        if self.key is None:
            return "it does not hold both a certificate and its key; name the file of the key with --tls-key."
        return "they do not hold a certificate and its key in PEM format."


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How a process serves HTTP.

    `hosts` are names it answers to besides its own, `origins` the web pages that may call it from elsewhere. `limits`
    are those of each client; without them, the default ones hold wherever other machines can reach it. `sse` adds the
    endpoints of the transport of 2024-11-05.
    """

    certificate: Certificate | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: Limits | None = None
    sse: bool = False


DEFAULTS = HttpOptions()


def run_http(server: Serves, host: str, port: int, options: HttpOptions = DEFAULTS) -> None:
    """Serve until interrupted. The URL is printed on stderr; port 0 is any free one.

    On a loopback address only loopback hosts and origins are accepted. On every address (`0.0.0.0`) any Host is
    accepted unless `options` name some, and the Origin must be the same as the Host.

    Raises:
        OSError: the address cannot be bound, or the certificate cannot be used.
        Exception: what the server's lifespan raised.
        KeyboardInterrupt: interrupted, after a graceful shutdown.
    """
    certificate = options.certificate
    if certificate:
        certificate.check()
    listening = listen(host, port)
    with listening:
        shown = f"[{host}]" if ":" in host else host or "0.0.0.0"
        scheme, is_local = "https" if certificate else "http", shown in LOOPBACK
        _say(f"{scheme}://{shown}:{listening.getsockname()[1]}{PATH}")
        if not (certificate or is_local):
            _say(UNENCRYPTED)
        if not (options.hosts or is_local):
            _say(ANY_HOST if host in EVERYWHERE else ONE_HOST.format(host=shown))
        hosts = _hosts(host, shown, options.hosts)
        app = asgi_app(server, path=PATH, sse=options.sse, allowed_hosts=hosts, allowed_origins=options.origins)
        limits = options.limits or (None if is_local else Limits())
        uvicorn_server(app, certificate, limits).run(sockets=[listening])


def _hosts(host: str, shown: str, named: tuple[str, ...]) -> tuple[str, ...]:
    if host in EVERYWHERE:
        return (*LOOPBACK, *map(str.lower, named)) if named else (ANY,)
    return (*LOOPBACK, shown.lower(), *map(str.lower, named))


def _no_password() -> str:
    raise ValueError("the key is encrypted, and nobody is asked for its password")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2_048)
    # A response is two writes; without this the second waits for the acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class _OnePacket:
    """A transport that joins the writes of one turn of the loop: the head of a response and its body."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held:
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _protocol() -> type[Any]:
    """uvicorn's HTTP protocol, with responses in one packet and limits on the size and time of request heads."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Protocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]  # which one it is depends on what is installed
        def connection_made(self, transport: Any) -> None:
            super().connection_made(_OnePacket(transport))
            self._head = 0
            self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._give_up)

        def connection_lost(self, error: Exception | None) -> None:
            self._late.cancel()
            super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._head = 0 if self.cycle and not self.cycle.response_complete else self._head + len(data)
            if self._head > HEAD_LIMIT:  # the head is too long
                self.transport.close()

        def _give_up(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return Protocol


def uvicorn_server(
    app: HttpApp, certificate: Certificate | None = None, limits: Limits | None = None
) -> uvicorn.Server:
    """A uvicorn server without logs, with low latency and a short graceful shutdown."""
    import uvicorn

    class Quiet(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            log = logging.getLogger("uvicorn.error")
            log.disabled = True  # the caller reports errors
            try:
                await super().startup(sockets)
            finally:
                log.disabled = False
                if app.fault:
                    raise app.fault  # instead of uvicorn's own exit

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.end()  # uvicorn waits for open streams to end
            await super().shutdown(sockets)

    config = uvicorn.Config(
        Limited(app, limits) if limits else app,
        http=_protocol(),
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
        h11_max_incomplete_event_size=HEAD_LIMIT,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=65,  # longer than the usual timeouts of proxies, so that they close idle connections first
    )
    return Quiet(config)
