"""The official SDK's OAuth clients, with corrections required by the specification or useful to people.

The SDK provides discovery, registration, PKCE, the checks of issuer and resource, and token requests. Changed here and
in `oauth.grants`:

* state found in an earlier run is restored, so that a refresh goes to the right endpoint after a restart;
* the authorization server's metadata must declare PKCE support;
* the authorization server's `scopes_supported` is not requested as a default scope;
* a pre-registered client is bound to one authorization server, and uses an authentication method it supports;
* a temporarily failing refresh does not delete the refresh token;
* issuers are compared as exact strings; a server without protected resource metadata (revision 2025-03-26) may spell
  its issuer differently;
* invalid metadata is reported, and no endpoints are guessed in its place;
* a token that is not valid in a header, or has an invalid expiry time, is rejected;
* an error in the redirect is shown only after the redirect has been verified;
* no remote value is logged, or put into an exception together with a token.
"""

from __future__ import annotations

import logging
import re
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
from pydantic_core import from_json

from agent.host.oauth.challenge import Challenge
from agent.host.oauth.descriptions import Descriptions
from agent.host.oauth.store import Credentials
from agent.host.oauth.table import OAuthTable
from agent.mcp.exchange import origin

END_OF_TIME = 10**12  # seconds; a larger `expires_in` of either sign is invalid

logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)  # it logs remote values, with a traceback


class ClientUnknown(OAuthTokenError):
    """The authorization server does not know the client any more."""


class ClientMissing(OAuthFlowError):
    """The authorization server has no dynamic client registration."""


class Nowhere:
    """A storage for the SDK that stores nothing: `Mended.credentials` has the state instead."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class Mended(OAuthClientProvider):
    """Used for one renewal: restore the state with `take_up`, run the flow, then read `credentials`."""

    options: OAuthTable
    challenge = Challenge()
    _kept: Credentials | None = None
    _issuer: str | None = None

    def take_up(self, kept: Credentials | None) -> None:
        """Restore the state of an earlier run; invalid state is ignored."""
        self._initialized, self._spelled, self._went = True, dict[str, str](), False
        self.descriptions = Descriptions()
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
        """The current state."""
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

    def revocation(self) -> httpx2.Request | None:
        """A token revocation request (RFC 7009, section 2.1); None if the server does not support it."""
        context, tokens = self.context, self.context.current_tokens
        endpoint = context.oauth_metadata and context.oauth_metadata.revocation_endpoint
        if endpoint is None or tokens is None or context.client_info is None:
            return None
        self._choose_method()
        form = {"token": tokens.refresh_token or tokens.access_token, "client_id": context.client_info.client_id}
        form, headers = context.prepare_token_auth(form, {"Content-Type": "application/x-www-form-urlencoded"})
        return httpx2.Request("POST", str(endpoint), data=form, headers=headers)

    def respell(self, issuer: str) -> bool:
        """Accept metadata with this issuer despite its different spelling, if allowed; returns whether that is so.

        Servers of revision 2025-03-26 are located by their own origin, and may spell their issuer differently.
        """
        expected = self._expected_issuer()
        if self._went or self.context.auth_server_url is not None or issuer == expected:
            return False
        if origin(issuer) != origin(expected):
            return False
        self._spelled[expected] = issuer
        return True

    def check_discovery(self) -> None:
        """Verify the discovered metadata before anything is sent to the authorization server.

        Raises:
            ClientMissing: there is no client, and no registration endpoint.
            OAuthFlowError: the metadata is missing or invalid.
        """
        context = self.context
        metadata, issuer = context.oauth_metadata, context.auth_server_url
        if metadata is None and (self.descriptions.fault or issuer):
            raise OAuthFlowError(self.descriptions.fault or f"there is no description of {issuer}")
        if metadata and issuer and (str(metadata.issuer) != issuer or not self.descriptions.agree):
            raise OAuthFlowError(f"{issuer} is described as another issuer, {self.descriptions.issuer}")
        if metadata and context.client_info is None and metadata.registration_endpoint is None:
            raise ClientMissing(str(metadata.issuer))

    def _expected_issuer(self) -> str:
        expected = super()._expected_issuer()
        return self._spelled.get(expected, expected)

    def _select_authorization_server(self, advertised: list[str]) -> str:
        bound = self._bound_to
        fit = [one for one in advertised if bound is None or issuers_match(one, bound)]
        if not fit:
            raise OAuthFlowError(f"the server belongs to {advertised[0]}, and the client is registered at {bound}")
        self._issuer = fit[0]
        return self._issuer

    @property
    def _bound_to(self) -> str | None:
        """The only authorization server that may be used, if the client is bound to one."""
        if self.options.issuer or self.options.client_id is None:
            return self.options.issuer
        return self._kept.issuer if self._kept else None

    async def _perform_authorization(self) -> httpx2.Request:
        self.check_discovery()
        self._went = True
        self._choose_scope()
        self._choose_method()
        metadata, bound = self.context.oauth_metadata, self._bound_to
        if bound and metadata and not issuers_match(str(metadata.issuer), bound):
            raise OAuthFlowError(f"the server belongs to {metadata.issuer}, and the client is registered at {bound}")
        return await super()._perform_authorization()

    def _choose_scope(self) -> None:
        """The challenge's scope, else the resource metadata's, else none (section "Scope Selection Strategy")."""
        context, kept, step_up = self.context, self._kept, self.challenge.is_step_up
        listed = context.protected_resource_metadata and context.protected_resource_metadata.scopes_supported
        base = context.client_metadata.scope
        if self.options.scopes:
            base = " ".join(self.options.scopes)
        elif self.challenge.scope is None and listed is None:
            base = None
        more = union_scopes(kept.demanded if kept else None, self.challenge.scope if step_up else None)
        before = union_scopes(kept.requested, kept.scope) if kept and (step_up or kept.demanded) else None
        context.client_metadata.scope = union_scopes(union_scopes(before, base), more)

    def _choose_method(self) -> None:
        """The client authentication method, if the registration names none (RFC 8414, section 2)."""
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
        if response.status_code == 200:
            _check_token(response)
        return await super()._handle_refresh_response(response)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if response.status_code not in (200, 201):
            error, description = _said(response)
            why = ": ".join(filter(None, (error, description))) or f"it answered with {response.status_code}"
            kind = ClientUnknown if error == "invalid_client" else OAuthTokenError
            raise kind(f"the authorization server gave no token: {why}")
        _check_token(response)
        await super()._handle_token_response(response)


def _document(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True) if model else {}
    return found


def _check_token(response: httpx2.Response) -> None:
    """Raises OAuthTokenError if the response has no token that is valid in a header (RFC 6750, section 2.1)."""
    try:
        given = OAuthToken.model_validate_json(response.content)
        is_token = re.fullmatch(r"[\x21-\x7e]+", given.access_token) and abs(given.expires_in or 0) < END_OF_TIME
    except ValidationError:
        is_token = False
    if not is_token:
        raise OAuthTokenError("what the authorization server gave is no bearer token")


def _said(response: httpx2.Response) -> tuple[str, str]:
    """A token endpoint's `error` and `error_description` (RFC 6749, section 5.2)."""
    try:
        body = from_json(response.content)
    except ValueError:
        return "", ""
    error, description = (
        (body.get(name) for name in ("error", "error_description")) if isinstance(body, dict) else ("", "")
    )
    return error if isinstance(error, str) else "", description if isinstance(description, str) else ""
