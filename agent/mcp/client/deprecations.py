"""Deprecated features that a server uses, with no I/O (section "Deprecated")."""

from __future__ import annotations

from typing import Any

from agent.mcp.jsonrpc import Params
from agent.mcp.lifecycle import at_least

SUNSET = "2026-07-28"
HTTP_SSE = "The server is reached over HTTP+SSE, which revision 2025-03-26 deprecates; it should offer Streamable HTTP."
LEAVING = {
    "sampling/createMessage": ("sampling", "should call a model itself"),
    "roots/list": ("roots", "should take folders as arguments"),
    "notifications/message": ("log messages", "should log to stderr"),
}


def deprecated(method: str, params: Params, revision: str) -> str | None:
    """A sentence for people, if what the server sends is deprecated in the revision spoken."""
    if at_least(revision, SUNSET) and method in LEAVING:
        what, instead = LEAVING[method]
        return f"The server uses {what}, which revision {SUNSET} deprecates; it {instead}."
    if not at_least(revision, "2025-11-25"):
        return None
    if method == "sampling/createMessage" and params.get("includeContext") in ("thisServer", "allServers"):
        return "The server asks for the context of the conversation (includeContext), which is deprecated."
    if method == "elicitation/create" and _has_legacy_names(params.get("requestedSchema")):
        return "The server names the choices of a form with enumNames, which is deprecated; it should use oneOf."
    return None


def _has_legacy_names(schema: Any) -> bool:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    parts = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(part, dict) and "enumNames" in part for part in parts)
