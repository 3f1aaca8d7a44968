"""A server as a process of its own: its command line, its exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from agent.mcp.envelope import ConnectionLost
from agent.mcp.signature import SignatureError
from agent.mcp.transports.stdio_server import StdioServerChannel, standard_streams

if TYPE_CHECKING:
    from agent.mcp.server import Server

USAGE, INTERRUPTED = 2, 130  # exit codes


def run(server: Server, arguments: Sequence[str] | None = None) -> None:
    """Raises SystemExit, except after a client that left in order."""
    match list(sys.argv[1:] if arguments is None else arguments):
        case []:
            _run_stdio(server)
        case ["-h" | "--help"]:
            _say(f"{server.name} is an MCP server. It speaks JSON-RPC on stdin and stdout, one message a line.")
        case ["--http", _]:
            _say(f"{server.name}: this version serves stdio only; start it without --http.")
            raise SystemExit(USAGE)
        case [unknown, *_]:
            _say(f"{server.name}: unknown argument {unknown}; start it without arguments to serve stdio.")
            raise SystemExit(USAGE)


def _run_stdio(server: Server) -> None:
    if os.isatty(0):
        _say(f"{server.name} {server.version} waits for JSON-RPC, one message a line. Ctrl-D ends it.")
    try:
        with standard_streams() as (reading, writing):
            anyio.run(_serve_stdio, server, reading, writing)
    except (SignatureError, ConnectionLost) as error:
        _say(f"{server.name} cannot start: {error}")
        raise SystemExit(USAGE) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


async def _serve_stdio(server: Server, reading: int, writing: int) -> None:
    await server.serve(StdioServerChannel(reading, writing))


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
