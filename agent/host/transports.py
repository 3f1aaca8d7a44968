"""Creates the transport to a server (a child process or a URL), and reports what is known about it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent import __version__
from agent.host.config.models import ServerTable
from agent.mcp.envelope import Transport
from agent.mcp.transports.stdio import Noise, StdioTransport, stdio

if TYPE_CHECKING:
    import httpx2

SHOWN_OF_STDERR = 1_000  # characters of it included in a failure message
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
PLAIN = "Its address begins with http://: everybody on the way can read, and change, what is said. Use https://."


def reach(table: ServerTable) -> Transport:
    """The transport for a server's configuration. Nothing is opened yet."""
    if table.url is None:
        return stdio(table.argv, env=table.environment, cwd=table.cwd)
    from agent.mcp.transports.http_client import http

    configured = {name: value.get_secret_value() for name, value in table.headers.items()}
    return http(table.url, headers={"user-agent": f"mcp-chat/{__version__}", **configured})


def sign(transport: Transport, access: httpx2.Auth | None) -> None:
    """Make `access` authorize every request of an HTTP transport; others are not changed."""
    if access is not None:
        from agent.mcp.transports.http_client import HttpTransport

        if isinstance(transport, HttpTransport):
            transport.auth = access


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine."""
    return _hostname(url) in LOOPBACK


def is_readable_on_the_way(url: str | None) -> bool:
    """Whether requests to the URL are unencrypted and leave this machine."""
    return url is not None and url.lower().startswith("http://") and not is_local(url)


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def kind_of(table: ServerTable, transport: Transport) -> str:
    """ "stdio", "http", or "sse" for the older HTTP+SSE transport."""
    if table.url is not None:
        from agent.mcp.transports.http_client import HttpTransport

        return "sse" if isinstance(transport, HttpTransport) and transport.fell_back else "http"
    return "stdio" if isinstance(transport, StdioTransport) else "memory"


def noise_of(transport: Transport) -> int:
    """The number of invalid lines that a process wrote to stdout."""
    return transport.noise.count if isinstance(transport, StdioTransport) else 0


def noise_told(transport: Transport) -> str:
    """A sentence about those lines, followed by a space; empty if there were none."""
    noise = transport.noise if isinstance(transport, StdioTransport) else Noise()
    return f"It printed {noise.last!r} on stdout, which is no message. " if noise.count else ""


def too_slow(transport: Transport, limit: str) -> str:
    """A sentence about a server that was not ready within `limit`, with possible reasons."""
    if isinstance(transport, StdioTransport) and transport.exit_reason:
        return f"{transport.exit_reason} Started once more, it did not answer within {limit}."
    stderr = stderr_of(transport).strip()[-SHOWN_OF_STDERR:]
    said = noise_told(transport) + (f"The end of its stderr:\n{stderr}" if stderr else "")
    return f"It did not answer within {limit}. {said}".rstrip()


def stderr_of(transport: Transport) -> str:
    """The end of what a process wrote to stderr."""
    return transport.stderr_tail if isinstance(transport, StdioTransport) else ""
