"""Running a server as a process: command line and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import anyio

from agent.mcp.envelope import ConnectionLost
from agent.mcp.server.service import LifespanFailed
from agent.mcp.server.signature import SignatureError
from agent.mcp.transports.stdio_server import StdioServerChannel, standard_streams

if TYPE_CHECKING:
    from agent.mcp.server.server import Server
    from agent.mcp.transports.http_run import HttpOptions

USAGE, INTERRUPTED = 2, 130  # exit codes
HIGHEST_PORT = 65_535


HELP = """\
{name} is an MCP server. It speaks JSON-RPC on stdin and stdout, one message a line.

--http HOST:PORT       speak Streamable HTTP there instead
--tls-cert FILE        encrypted, with this certificate
--tls-key FILE         and this key, if it is not in the same file
--allow-host NAME      answer to this name too; may be repeated
--allow-origin ORIGIN  answer web pages of this origin, such as https://app.example; may be repeated
--per-second NUMBER    requests of one client in the long run
--burst NUMBER         requests of one client at once
--open NUMBER          requests of one client that are under way at the same time
"""
_FOLLOWED_BY = {
    "--http": "HOST:PORT",
    "--tls-cert": "a FILE",
    "--tls-key": "a FILE",
    "--allow-host": "a NAME",
    "--allow-origin": "an ORIGIN",
    "--per-second": "a NUMBER",
    "--burst": "a NUMBER",
    "--open": "a NUMBER",
}

Options = Mapping[str, Sequence[str]]
"""The values given for each option, in order."""


def run(server: Server, arguments: Sequence[str] | None = None) -> None:
    """Serve until stdin ends. Raises SystemExit for every other end."""
    match list(sys.argv[1:] if arguments is None else arguments):
        case []:
            _run_stdio(server)
        case ["-h" | "--help"]:
            _say(HELP.format(name=server.name).rstrip())
        case given:
            options = _options(server, given)
            if "--http" not in options:
                _refuse(server, f"{next(iter(options))} is for --http HOST:PORT.")
            _run_http(server, options)


def _options(server: Server, given: Sequence[str]) -> Options:
    options, rest = dict[str, list[str]](), list(given)
    while rest:
        name = rest.pop(0)
        if name not in _FOLLOWED_BY:
            _refuse(server, f"unknown argument {name}; start it without arguments, or with --http HOST:PORT.")
        if not rest:
            _refuse(server, f"{name} needs {_FOLLOWED_BY[name]} after it.")
        options.setdefault(name, []).append(rest.pop(0))
    return options


def _run_stdio(server: Server) -> None:
    if os.isatty(0):
        _say(f"{server.name} {server.version} waits for JSON-RPC, one message a line. Ctrl-D ends it.")
    with _exits(server), standard_streams() as (reading, writing):
        anyio.run(_serve_stdio, server, reading, writing)


async def _serve_stdio(server: Server, reading: int, writing: int) -> None:
    async with StdioServerChannel(reading, writing) as channel:
        await server.serve(channel)


def _run_http(server: Server, options: Options) -> None:
    address = options["--http"][-1]
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > HIGHEST_PORT:
        _refuse(server, f"--http needs HOST:PORT, such as 127.0.0.1:8000, and not {address}.")
    if "--tls-key" in options and "--tls-cert" not in options:
        _refuse(server, "--tls-key needs --tls-cert.")
    with _exits(server):
        from agent.mcp.transports.http_run import run_http

        server.prepare()
        run_http(server, host.strip("[]") or "127.0.0.1", int(port), _http_options(server, options))


def _http_options(server: Server, given: Options) -> HttpOptions:
    from agent.mcp.transports.http_limits import Limits
    from agent.mcp.transports.http_run import Certificate, HttpOptions

    def last(name: str) -> str | None:
        return given[name][-1] if name in given else None

    def number(name: str) -> int | None:
        text = last(name)
        if text is not None and not (text.isdecimal() and int(text)):
            _refuse(server, f"{name} needs a whole number of at least 1, and not {text}.")
        return int(text) if text else None

    chain = last("--tls-cert")
    limits = {"per_second": number("--per-second"), "burst": number("--burst"), "open": number("--open")}
    set_ones = {name: value for name, value in limits.items() if value is not None}
    return HttpOptions(
        Certificate(chain, last("--tls-key")) if chain else None,
        tuple(given.get("--allow-host", ())),
        tuple(given.get("--allow-origin", ())),
        Limits(**set_ones) if set_ones else None,
    )


@contextmanager
def _exits(server: Server) -> Iterator[None]:
    """Report errors in a sentence, with an exit code."""
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
