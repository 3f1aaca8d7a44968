"""Signing in and out by command, whether or not the server is in use."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from agent.host.config.config import Config
from agent.host.config.errors import ConfigError, nearest
from agent.host.config.models import ServerTable
from agent.host.config.servers import parse_spec
from agent.host.errors import HostError
from agent.host.oauth.challenge import Challenge, read_challenge
from agent.host.oauth.oauth import party_of, signs_in
from agent.host.oauth.party import Party
from agent.host.oauth.store import Credentials, open_store
from agent.mcp.envelope import ConnectionLost

if TYPE_CHECKING:
    from agent.host.oauth.browser import Redirecting

ANSWER_SECONDS = 15.0
REVOKING_SECONDS = 5.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "mcp-chat", "version": "1"},
    },
}
"""What a server answers to anybody it lets in."""


async def log_in(config: Config, server: str, redirecting: Redirecting) -> str:
    """Sign in to a server, by its name or its URL; a sentence on how it went.

    Raises:
        ConfigError: there is no such server, or none that can be signed in to.
        HostError: the server is not there, or it came to nothing.
    """
    try:
        return await _sign_in(config, server, redirecting)
    except ConnectionLost as error:
        raise HostError(str(error)) from error


async def _sign_in(config: Config, server: str, redirecting: Redirecting) -> str:
    from agent.host.oauth.access import Access

    name, table = _find(config, server)
    if not signs_in(table):
        raise ConfigError(f"{name} is not signed in to: its configuration says so, or holds a token.")
    challenge, is_open = await _challenge(name, table)
    if is_open and table.auth != "oauth":
        return f"{name} lets everybody in; there is no need to sign in."
    folder = config.data_folder
    access = Access(party_of(config, name, table), open_store(folder), folder, redirecting)
    await access.sign_in(challenge)
    if access.unkept:
        raise HostError(f"You have signed in to {name}, but that cannot be kept for the next run: {access.unkept}.")
    return f"You are signed in to {name}."


async def log_out(config: Config, server: str) -> str:
    """Forget what signing in gave us; a sentence on whether there was anything. Raises as `log_in` does."""
    name, table = _find(config, server)
    assert table.url is not None
    store = open_store(config.data_folder)
    await _revoke(party_of(config, name, table), store.read(table.url))
    try:
        erased = store.erase(table.url)
    except OSError as error:
        raise HostError(f"The token for {name} cannot be erased: {error}") from error
    return f"You are signed out of {name}." if erased else f"You were not signed in to {name}."


async def _revoke(party: Party, kept: Credentials | None) -> None:
    """Where the authorization server takes that. If it cannot be reached, the token is forgotten here all the same."""
    if kept is None or not (kept.metadata or {}).get("revocation_endpoint"):
        return
    with anyio.move_on_after(REVOKING_SECONDS), suppress(ConnectionLost, ImportError):
        from agent.host.oauth.flow import revoke

        await revoke(party, kept)


def _find(config: Config, server: str) -> tuple[str, ServerTable]:
    """Its name and its table. One that is not configured needs nothing but its URL."""
    if server not in config.servers and re.match("https?://", server):
        known = [(name, table) for name, table in config.servers.items() if table.url == server]
        try:
            return known[0] if known else parse_spec(server, config.servers, Path())
        except ConfigError:
            raise ConfigError(f"{server} is no address of a server; write https://HOST/PATH.") from None
    table = config.servers.get(server)
    if table is None:
        for disabled in config.disabled:
            if disabled.kind == "server" and disabled.name == server:
                raise ConfigError(f"The server {server} is disabled: {disabled.reason}")
        raise ConfigError(f"There is no server named {server!r}.{nearest(server, config.servers)}")
    if table.url is None:
        raise ConfigError(f"{server} runs on this machine; only a server with a url can be signed in to.")
    return server, table


async def _challenge(name: str, table: ServerTable) -> tuple[Challenge | None, bool]:
    """What the server says to a stranger, and whether it lets one in."""
    import httpx2

    from agent.host.oauth.http import open_client
    from agent.mcp.transports.http_faults import lost

    assert table.url is not None
    headers = {name: value.get_secret_value() for name, value in table.headers.items()}
    headers |= {"accept": "application/json, text/event-stream"}
    try:
        async with (
            open_client(name, ANSWER_SECONDS) as client,
            client.stream("POST", table.url, json=HELLO, headers=headers) as answer,
        ):
            said = read_challenge(answer.status_code, answer.headers.get("www-authenticate", ""))
            return said, answer.is_success
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        raise lost(table.url, error) from error
