"""A server as an HTTP process of its own, under uvicorn."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING, Any

from agent.mcp.admission import ANY, LOOPBACK
from agent.mcp.transports.http_server import HttpApp, asgi_app

if TYPE_CHECKING:
    import uvicorn

    from agent.mcp.transports.http_sessions import Serves

PATH = "/mcp"
HEAD_SECONDS = 30.0  # for a new connection to say what it wants
GRACE_SECONDS = 2  # for answers under way when the process is told to stop
EVERYWHERE = ("", "0.0.0.0", "::")


def run_http(server: Serves, host: str, port: int, *, sse: bool = False) -> None:
    """Serve until interrupted. The URL is printed on stderr; port 0 is any free one.

    On an address of this machine alone, only pages and programs of this machine are answered; on every address
    (`0.0.0.0`), whoever can reach it.

    Raises:
        OSError: the address cannot be had.
        KeyboardInterrupt: interrupted; every connection has been closed in order.
    """
    listening = listen(host, port)
    with listening:
        shown = f"[{host}]" if ":" in host else host or "0.0.0.0"
        print(f"http://{shown}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)  # noqa: T201
        hosts = (ANY,) if host in EVERYWHERE else (*LOOPBACK, shown.lower())
        uvicorn_server(asgi_app(server, path=PATH, sse=sse, allowed_hosts=hosts)).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for connections. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2_048)
    # An answer is two writes, and the second must not wait until the first is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class _OnePacket:
    """A transport that sends what is written in one turn of the loop together: the head of an answer and its body."""

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


def uvicorn_server(app: HttpApp) -> uvicorn.Server:
    """Quiet, quick to answer, and quick to leave."""
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Protocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]  # which one it is depends on what is installed
        def connection_made(self, transport: Any) -> None:
            super().connection_made(_OnePacket(transport))
            self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._give_up)

        def connection_lost(self, error: Exception | None) -> None:
            self._late.cancel()
            super().connection_lost(error)

        def _give_up(self) -> None:
            if self.cycle is None:
                self.transport.close()

    class Quiet(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.end()  # uvicorn waits for streams, and a stream waits for news
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=Protocol,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=65,  # longer than those of what stands in between, so that it never hangs up on a request
    )
    return Quiet(config)
