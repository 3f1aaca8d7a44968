"""Errors for callers of the host. Every text is a sentence for people."""

from __future__ import annotations

import json

from agent.host.config.models import ServerTable
from agent.host.oauth.errors import NotSignedIn
from agent.host.oauth.oauth import holds_token
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError
from agent.mcp.exchange import Unauthorized
from agent.mcp.jsonrpc import INVALID_PARAMS, NO_CODE
from agent.mcp.protocol import MISSING_CAPABILITY, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED


class HostError(Exception):
    """What was requested does not exist or is not available."""


class ServerUnavailable(HostError):
    """A server is not connected or did not respond in time. The text names it."""


def describe_error(error: McpError) -> str:
    """A server's error as text for the model and people. URLs that a person is to open are left out."""
    if error.code == URL_ELICITATION_REQUIRED:
        return "The server wants a page opened in the browser first, and the person has not done that."
    if error.code == MISSING_CAPABILITY:
        return error.message  # a sentence written by the client
    if missing := _missing_resource(error):
        return missing
    data = "" if error.data is None else f" {json.dumps(error.data, ensure_ascii=False)}"
    named = "an error" if error.code == NO_CODE else f"error {error.code}"
    return f"The server answered with {named}: {error.message}{data}"


def _missing_resource(error: McpError) -> str | None:
    """The missing resource (section "Resources, error handling"). Stateless revisions have no code for it."""
    uri = error.data.get("uri") if isinstance(error.data, dict) else None
    is_that = error.code == RESOURCE_NOT_FOUND or (
        error.code == INVALID_PARAMS and isinstance(uri, str) and "resource" in error.message.lower()
    )
    return f"There is no resource {uri if isinstance(uri, str) else 'of that URI'}." if is_that else None


def explained(error: ConnectionLost, table: ServerTable) -> str:
    """Why there is no connection to a server, with advice where the transport cannot give any."""
    if not isinstance(error, Unauthorized) or isinstance(error, NotSignedIn):
        return str(error)
    if holds_token(table):
        return f"{error} It does not take the token in this server's headers: put one there that it gave you."
    return f"{error} Put the token that it gave you into this server's headers."


def loss(name: str, table: ServerTable, error: ConnectionLost) -> str:
    """Why a server does not respond. A process that cannot be reached has ended; for a URL that is uncertain."""
    said = explained(error, table)
    if isinstance(error, NotSignedIn):  # whose text names the server
        return said
    return f"{name}: {said}" if table.url else f"The server {name} is gone: {said}"
