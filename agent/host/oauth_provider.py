"""The official SDK's OAuth clients, mended where they fall short of the specification or of a person's needs.

What they do well stays theirs: discovery, registration, PKCE, the checks of issuer and resource, the requests for
tokens. What is changed, here and in `oauth_grants`:

* what an earlier run found out is taken up again, so that a refresh goes to the right place after a restart;
* an authorization server must say that it knows PKCE;
* of the scopes that the authorization server knows, none is asked for because nobody said which;
* a client that was registered by hand belongs to one authorization server, and authenticates the way that one takes;
* a refresh that fails for a while does not throw the refresh token away;
* the issuer of a bare host may be written with a slash at its end, or without;
* an error in the redirect is shown only once the redirect is known to be genuine;
* no value that came from outside stands in a log, or in an exception next to a token.
"""

from __future__ import annotations

import logging
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.utils import issuers_match, union_scopes
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import ValidationError

from agent.host.oauth_challenge import Challenge
from agent.host.oauth_store import Credentials
from agent.host.oauth_table import OAuthTable
from agent.mcp.exchange import origin

logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)  # it logs what servers say, with a traceback


class ClientUnknown(OAuthTokenError):
    """The authorization server does not know the client any more."""


class Nowhere:
    """The SDK's storage, which keeps nothing: `Mended.credentials` is what is kept."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class Mended(OAuthClientProvider):
    """Lives for one renewal: `take_up` what is known, let it work, and keep `credentials`."""

    options: OAuthTable
    challenge = Challenge()
    _kept: Credentials | None = None
    _issuer: str | None = None

    def take_up(self, kept: Credentials | None) -> None:
        """Go on where an earlier renewal ended; a memory that is damaged is none."""
        self._initialized, self._spelled = True, dict[str, str]()
        if kept is None:
            return
        context = self.context
        try:
            metadata = OAuthMetadata.model_validate(kept.metadata) if kept.metadata else None
            resource = ProtectedResourceMetadata.model_validate(kept.resource) if kept.resource else None
            client = OAuthClientInformationFull.model_validate(kept.client) if kept.client else None
        except ValidationError:
            return
        self._kept = kept
        if kept.access_token:
            context.current_tokens = OAuthToken(
                access_token=kept.access_token, refresh_token=kept.refresh_token, scope=kept.scope
            )
            context.token_expiry_time = kept.expires_at
        context.client_metadata.scope = kept.requested
        context.oauth_metadata, context.protected_resource_metadata = metadata, resource
        context.auth_server_url = kept.issuer if resource else None
        context.client_info = context.client_info or client

    @property
    def credentials(self) -> Credentials:
        """What is known now."""
        context, tokens = self.context, self.context.current_tokens
        return Credentials(
            server=context.server_url,
            issuer=str(context.oauth_metadata.issuer) if context.oauth_metadata else self._expected_issuer(),
            access_token=tokens.access_token if tokens else "",
            refresh_token=tokens.refresh_token if tokens else None,
            expires_at=context.token_expiry_time,
            scope=tokens.scope if tokens else None,
            requested=context.client_metadata.scope,
            client=_document(context.client_info),
            metadata=_document(context.oauth_metadata) or None,
            resource=_document(context.protected_resource_metadata) or None,
        )

    def respell(self, issuer: str) -> bool:
        """Whether metadata that names this issuer may be taken after all, and will be.

        A bare host may have a slash at its end or not. Servers of revision 2025-03-26 are found by their own origin,
        where they may call themselves what they like.
        """
        expected = self._expected_issuer()
        described = self.context.auth_server_url is not None
        alike = issuers_match(issuer, expected) if described else origin(issuer) == origin(expected)
        if issuer == expected or not alike:
            return False
        self._spelled[expected] = issuer
        return True

    def _expected_issuer(self) -> str:
        expected = super()._expected_issuer()
        return self._spelled.get(expected, expected)

    def _select_authorization_server(self, advertised: list[str]) -> str:
        bound = self._bound_to
        fit = [one for one in advertised if bound is None or issuers_match(one, bound)]
        if not fit:
            raise OAuthFlowError(f"the server belongs to {advertised[0]}, and the client is registered at {bound}")
        self._issuer = self._spelled.get(fit[0], fit[0])
        return self._issuer

    @property
    def _bound_to(self) -> str | None:
        """The one authorization server that may be asked, where there is such a one."""
        if self.options.issuer or self.options.client_id is None:
            return self.options.issuer
        return self._kept.issuer if self._kept else None

    async def _perform_authorization(self) -> httpx2.Request:
        self._choose_scope()
        self._choose_method()
        metadata, bound = self.context.oauth_metadata, self._bound_to
        if bound and metadata and not issuers_match(str(metadata.issuer), bound):
            raise OAuthFlowError(f"the server belongs to {metadata.issuer}, and the client is registered at {bound}")
        return await super()._perform_authorization()

    def _choose_scope(self) -> None:
        """What was challenged, else what the server lists, else nothing (section "Scope Selection Strategy")."""
        context, step_up = self.context, self.challenge.is_step_up
        listed = context.protected_resource_metadata and context.protected_resource_metadata.scopes_supported
        before = union_scopes(self._kept.requested, self._kept.scope) if self._kept and step_up else None
        if self.options.scopes:
            asked = union_scopes(before, " ".join(self.options.scopes))
            context.client_metadata.scope = union_scopes(asked, self.challenge.scope if step_up else None)
        elif self.challenge.scope is None and listed is None:
            context.client_metadata.scope = before

    def _choose_method(self) -> None:
        """How the client proves itself, where its registration does not say (RFC 8414, section 2)."""
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is None or client.token_endpoint_auth_method is not None:
            return
        supported = (metadata and metadata.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
        fit = [way for way in ("client_secret_basic", "client_secret_post") if way in supported]
        client.token_endpoint_auth_method = fit[0] if client.client_secret and fit else "none"

    async def _refresh_token(self) -> httpx2.Request:
        self._choose_method()
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        if response.status_code >= 500 or response.status_code == 429:
            raise OAuthTokenError(f"the authorization server answered with {response.status_code}")
        if _said(response)[0] == "invalid_client":
            self.context.client_info = None
        return await super()._handle_refresh_response(response)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if response.status_code not in (200, 201):
            error, description = _said(response)
            why = ": ".join(filter(None, (error, description))) or f"it answered with {response.status_code}"
            kind = ClientUnknown if error == "invalid_client" else OAuthTokenError
            raise kind(f"the authorization server gave no token: {why}")
        try:
            await super()._handle_token_response(response)
        except OAuthTokenError:
            raise OAuthTokenError("what the authorization server gave is no bearer token") from None


def _document(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True) if model else {}
    return found


def _said(response: httpx2.Response) -> tuple[str, str]:
    """The error of a token endpoint, and what it says about it (RFC 6749, section 5.2)."""
    try:
        body = response.json()
    except ValueError:
        return "", ""
    error, description = (
        (body.get(name) for name in ("error", "error_description")) if isinstance(body, dict) else ("", "")
    )
    return error if isinstance(error, str) else "", description if isinstance(description, str) else ""
