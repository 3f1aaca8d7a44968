"""The supported grants: authorization code with a person, or client credentials with a secret or a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import jwt
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from agent.host.oauth.addresses import objection
from agent.host.oauth.provider import Mended, Nowhere
from agent.host.oauth.table import OAuthTable
from agent.mcp.exchange import excerpt, origin

Visit = Callable[[str], Awaitable[str]]
"""Sends a person to a URL, and returns the whole URL of the redirect."""


class CodeGrant(Mended):
    """Authorization code grant with PKCE: a person signs in."""

    def __init__(self, server: str, options: OAuthTable, redirect_uri: str, visit: Visit) -> None:
        metadata = OAuthClientMetadata(client_name="mcp-chat", redirect_uris=[AnyUrl(redirect_uri)])
        self.options, self._visit, self._leading = options, visit, ""
        document = options.client_metadata_url
        super().__init__(server, metadata, Nowhere(), self._lead, self._come_back, document)
        if options.client_id is not None:
            secret = options.client_secret.get_secret_value() if options.client_secret else None
            self.context.client_info = OAuthClientInformationFull(
                client_id=options.client_id, client_secret=secret, redirect_uris=metadata.redirect_uris
            )

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata, resource = self.context.oauth_metadata, self.context.protected_resource_metadata
        methods = metadata.code_challenge_methods_supported if metadata else None
        if (metadata and resource and methods is None) or (methods is not None and "S256" not in methods):
            raise OAuthFlowError("the authorization server does not say that it knows PKCE with S256")
        return await super()._perform_authorization_code_grant()

    async def _lead(self, url: str) -> None:
        if why := objection(url, self.context.server_url):
            page, _, _ = url.partition("?")
            raise OAuthFlowError(f"its page {page} is not opened: {why}")
        self._leading = url

    async def _come_back(self) -> AuthorizationCodeResult:
        """Parse the redirect. Its error text is only used after `state` and issuer have been verified (RFC 9207)."""
        given = parse_qs(urlsplit(await self._visit(self._leading)).query, keep_blank_values=True)
        state = parse_qs(urlsplit(self._leading).query)["state"]
        if given.get("state") != state or any(len(values) > 1 for values in given.values()):
            raise OAuthFlowError("the redirect does not belong to this attempt")
        said = {name: values[0] for name, values in given.items()}
        if self.context.oauth_metadata and said.get("iss") == self.descriptions.issuer:
            said["iss"] = str(self.context.oauth_metadata.issuer)  # the SDK normalises the issuer's spelling
        if "error" in said:
            validate_authorization_response_iss(said.get("iss"), self.context.oauth_metadata)
            why = ": ".join(filter(None, (said["error"], said.get("error_description"))))
            raise OAuthFlowError(f"the authorization server said {excerpt(why)}")
        return AuthorizationCodeResult(code=said.get("code", ""), state=state[0], iss=said.get("iss"))


class SecretGrant(Mended, ClientCredentialsOAuthProvider):
    """Client credentials grant with a secret."""

    def __init__(self, server: str, options: OAuthTable) -> None:
        assert options.client_id
        assert options.client_secret
        self.options = options
        ClientCredentialsOAuthProvider.__init__(
            self,
            server,
            Nowhere(),
            options.client_id,
            options.client_secret.get_secret_value(),
            issuer=_issuer(server, options),
        )
        self.context.client_info = self._fixed_client_info.model_copy(update={"token_endpoint_auth_method": None})


class KeyGrant(Mended, PrivateKeyJWTOAuthProvider):
    """Client credentials grant with a private key (RFC 7523)."""

    def __init__(self, server: str, options: OAuthTable, key: str) -> None:
        assert options.client_id
        self.options = options
        signed = SignedJWTParameters(
            issuer=options.client_id,
            subject=options.client_id,
            signing_key=key,
            signing_algorithm=options.algorithm,
        )
        sign = signed.create_assertion_provider()

        async def assertion(audience: str) -> str:
            try:
                return await sign(audience)
            except (jwt.PyJWTError, ValueError, TypeError) as error:
                raise OAuthFlowError(f"the private key cannot be used with {options.algorithm}") from error

        PrivateKeyJWTOAuthProvider.__init__(
            self, server, Nowhere(), options.client_id, assertion, issuer=_issuer(server, options)
        )
        self.context.client_info = self._fixed_client_info


def _issuer(server: str, options: OAuthTable) -> str:
    """Where the credentials may be sent: the configured issuer, else the one found by discovery.

    The second is known after `_select_authorization_server`; before, it is the server's own origin, as for servers
    without metadata (revision 2025-03-26).
    """
    return options.issuer or origin(server)
