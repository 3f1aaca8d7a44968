"""The resource server's part of OAuth 2.1 (section "Authorization"): access tokens are verified, with no I/O.

It publishes the protected resource metadata (RFC 9728), accepts the tokens that were issued for it, and passes none on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
from pydantic_core import to_json

from agent.mcp.admission import Headers, Refusal
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, Failure, Message, Request
from agent.mcp.routing import NAMED

logger = logging.getLogger(__name__)

WELL_KNOWN = "/.well-known/oauth-protected-resource"
VERIFY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Token:
    """The claims of a verified access token.

    `subject` is the user it was issued for, `client` the OAuth client, `audience` the resources it is valid for, by
    their URLs; `expires_at` is in seconds since the epoch. `claims` are any others, for `Context.token`.
    """

    subject: str
    audience: frozenset[str]
    scopes: frozenset[str] = frozenset()
    expires_at: float | None = None
    client: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict, hash=False)


Verify = Callable[[str], Awaitable[Token | None]]
"""Verifies an access token; None for one that is unknown or revoked."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """The settings of a protected resource. `resource` is the canonical URL of the server.

    `scopes` are required for every request, `operations` adds those of a method ("tools/call") or of one tool, prompt
    or resource ("tools/call delete_note"). `implied` are the scopes that a scope includes.
    """

    resource: str
    authorization_servers: tuple[str, ...]
    verify: Verify
    scopes: tuple[str, ...] = ()
    operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    implied: Mapping[str, Collection[str]] = field(default_factory=dict)
    name: str = ""


class Authorizer:
    """Authenticates and authorizes the requests to one protected resource."""

    def __init__(self, authorization: Authorization) -> None:
        self._settings, self._reported = authorization, ""
        parts = urlsplit(authorization.resource)
        self._path = WELL_KNOWN + parts.path.rstrip("/")
        self._described_at = f"{parts.scheme}://{parts.netloc}{self._path}"

    def metadata(self, path: str) -> bytes | None:
        """The protected resource metadata (RFC 9728), if that is what `path` names."""
        if path not in (self._path, WELL_KNOWN):
            return None
        known = dict.fromkeys(
            [*self._settings.scopes, *(scope for more in self._settings.operations.values() for scope in more)]
        )
        document: dict[str, Any] = {
            "resource": self._settings.resource,
            "authorization_servers": self._settings.authorization_servers,
            "bearer_methods_supported": ["header"],
        }
        document |= {"scopes_supported": list(known)} if known else {}
        return to_json(document | ({"resource_name": self._settings.name} if self._settings.name else {}))

    async def authenticate(self, headers: Headers) -> Refusal | None:
        """Verify the access token and set `headers.token`; else the refusal to answer with."""
        kind, _, credentials = headers.get("authorization", "").partition(" ")
        if "authorization" in headers.repeated:
            return self._refusal(400, "There is more than one Authorization header.", "invalid_request")
        if kind.lower() != "bearer" or not credentials.strip():
            return self._refusal(401, "This server needs an access token.", "", self._settings.scopes)
        try:
            with anyio.fail_after(VERIFY_SECONDS):
                token = await self._settings.verify(credentials.strip())
        except Exception as error:  # the verifier may raise anything
            self._report(f"{type(error).__name__}: {error}")
            return Refusal(503, Failure(None, INTERNAL_ERROR, "The token could not be verified; try again later."))
        self._reported = ""
        if objection := _objection(token, self._settings.resource):
            return self._refusal(401, f"The token {objection}.", "invalid_token", self._settings.scopes)
        headers.token = token
        return self._demand(token, self._settings.scopes)

    def authorize(self, headers: Headers, messages: Iterable[Message]) -> Refusal | None:
        """The refusal to answer with, if the token's scopes are not enough; it names all that are needed."""
        needed = dict.fromkeys(self._settings.scopes)
        for message in messages:
            if isinstance(message, Request):
                name = (message.params or {}).get(NAMED.get(message.method, ""), "")
                needed |= dict.fromkeys(self._settings.operations.get(message.method, ()))
                needed |= dict.fromkeys(self._settings.operations.get(f"{message.method} {name}", ()))
        return self._demand(headers.token, needed)

    def _report(self, reason: str) -> None:
        """Log a reason once, until it changes or verification succeeds."""
        if reason != self._reported:
            self._reported = reason
            logger.error("access tokens cannot be verified: %s", reason)

    def _demand(self, token: Token | None, needed: Collection[str]) -> Refusal | None:
        granted = set(token.scopes) if token else set[str]()
        for scope in tuple(granted):
            granted |= set(self._settings.implied.get(scope, ()))
        if granted.issuperset(needed):
            return None
        said = "The token is not enough for this: it lacks a scope."
        return self._refusal(403, said, "insufficient_scope", needed)

    def _refusal(self, status: int, sentence: str, error: str, scopes: Collection[str] = ()) -> Refusal:
        said = {"error": error, "error_description": sentence if error else "", "scope": " ".join(scopes)}
        said["resource_metadata"] = self._described_at
        challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in said.items() if value)
        return Refusal(status, Failure(None, INVALID_REQUEST, sentence), challenge=challenge)


def _objection(token: Token | None, resource: str) -> str | None:
    """Why a token is not accepted. One for another audience may have been stolen or passed on there."""
    if token is None:
        return "is not valid"
    if token.expires_at is not None and token.expires_at <= time.time():
        return "has run out"
    if resource.rstrip("/") not in {audience.rstrip("/") for audience in token.audience}:
        return "is not for this server"
    return None
