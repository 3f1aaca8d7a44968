"""A server as a process of its own: its command line, its exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import anyio

from agent.mcp.envelope import ConnectionLost
from agent.mcp.server.service import LifespanFailed
from agent.mcp.server.signature import SignatureError
from agent.mcp.transports.stdio_server import StdioServerChannel, standard_streams

if TYPE_CHECKING:
    from agent.mcp.server.server import Server

USAGE, INTERRUPTED = 2, 130  # exit codes
HIGHEST_PORT = 65_535


def run(server: Server, arguments: Sequence[str] | None = None) -> None:
    """Raises SystemExit, except after a client that left in order."""
    match list(sys.argv[1:] if arguments is None else arguments):
        case []:
            _run_stdio(server)
        case ["-h" | "--help"]:
            _say(f"{server.name} is an MCP server. It speaks JSON-RPC on stdin and stdout, one message a line;")
            _say(
                "with --http HOST:PORT it speaks Streamable HTTP there, encrypted with --tls-cert FILE --tls-key FILE."
            )
        case given:
            options = _options(server, given)
            if "--http" not in options:
                _refuse(server, "--tls-cert and --tls-key are for --http HOST:PORT.")
            _run_http(server, options["--http"], options.get("--tls-cert"), options.get("--tls-key"))


def _options(server: Server, given: Sequence[str]) -> dict[str, str]:
    options, rest = dict[str, str](), list(given)
    while rest:
        name = rest.pop(0)
        if name not in ("--http", "--tls-cert", "--tls-key"):
            _refuse(server, f"unknown argument {name}; start it without arguments, or with --http HOST:PORT.")
        if not rest:
            _refuse(server, f"{name} needs {'HOST:PORT' if name == '--http' else 'a FILE'} after it.")
        options[name] = rest.pop(0)
    return options


def _run_stdio(server: Server) -> None:
    if os.isatty(0):
        _say(f"{server.name} {server.version} waits for JSON-RPC, one message a line. Ctrl-D ends it.")
    with _exits(server), standard_streams() as (reading, writing):
        anyio.run(_serve_stdio, server, reading, writing)


async def _serve_stdio(server: Server, reading: int, writing: int) -> None:
    async with StdioServerChannel(reading, writing) as channel:
        await server.serve(channel)


def _run_http(server: Server, address: str, chain: str | None, key: str | None) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT:
        _refuse(server, f"--http needs HOST:PORT, such as 127.0.0.1:8000, and not {address}.")
    if key and not chain:
        _refuse(server, "--tls-key needs --tls-cert.")
    with _exits(server):
        from agent.mcp.transports.http_run import Certificate, run_http

        server.prepare()
        certificate = Certificate(chain, key) if chain else None
        run_http(server, host.strip("[]") or "127.0.0.1", int(port), certificate=certificate)


@contextmanager
def _exits(server: Server) -> Iterator[None]:
    """Errors as a sentence and an exit code."""
    try:
        yield
    except (SignatureError, LifespanFailed, ConnectionLost, OSError) as error:
        _say(f"{server.name} cannot start: {error}")
        raise SystemExit(USAGE) from None
    except ModuleNotFoundError as error:
        _say(f"{server.name} cannot start: it needs the package {error.name}; install mcp-chat-agent[http].")
        raise SystemExit(USAGE) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _refuse(server: Server, sentence: str) -> NoReturn:
    _say(f"{server.name}: {sentence}")
    raise SystemExit(USAGE)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
