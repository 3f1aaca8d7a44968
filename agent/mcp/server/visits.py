"""A page that a server wants opened in the person's browser (section "Client Features, Elicitation, URL mode")."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Literal

from agent.mcp.jsonrpc import INVALID_PARAMS, Params
from agent.mcp.lifecycle import at_least
from agent.mcp.server.dialogue import ClientRefused


@dataclass(frozen=True, slots=True)
class Visit:
    """`action` says whether the person agreed to open it, which is not to say that they are done with it."""

    action: Literal["accept", "decline", "cancel"]
    id: str | None = None


def visit_params(message: str, url: str, revision: str) -> Params:
    """The stateless era has no word for a page that is finished, and so no name for it."""
    named = {} if at_least(revision, "2026-07-28") else {"elicitationId": secrets.token_urlsafe(16)}
    return {"mode": "url", "message": message, "url": url, **named}


def read_visit(answer: Any, params: Params) -> Visit:
    """Raises ClientRefused where the client's answer names no action."""
    action = answer.get("action") if isinstance(answer, dict) else None
    if action not in ("accept", "decline", "cancel"):
        raise ClientRefused(INVALID_PARAMS, "The client's answer to the page names no action.")
    return Visit(action, params.get("elicitationId"))
