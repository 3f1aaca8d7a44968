"""Signing in and out by command, whether or not the server is enabled."""

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
"""A request that a server accepts from every client that is authorized."""


async def log_in(config: Config, server: str, redirecting: Redirecting) -> str:
    """Sign in to a server given by name or URL; returns a sentence on the outcome.

    Raises:
        ConfigError: there is no such server, or it does not use OAuth.
        HostError: the server cannot be reached, or signing in failed.
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
    """Delete the stored credentials; returns a sentence on whether there were any. Raises as `log_in` does."""
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
    """Revoke the tokens if the authorization server supports it. If that fails, they are still deleted locally."""
    if kept is None or not (kept.metadata or {}).get("revocation_endpoint"):
        return
    with anyio.move_on_after(REVOKING_SECONDS), suppress(ConnectionLost, ImportError):
        from agent.host.oauth.flow import revoke

        await revoke(party, kept)


def _find(config: Config, server: str) -> tuple[str, ServerTable]:
    """A server's name and table. For one that is not configured, the URL is enough."""
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
    """The server's challenge to a request without a token, and whether it accepted that request."""
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
