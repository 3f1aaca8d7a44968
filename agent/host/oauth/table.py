"""The configuration of OAuth for a server."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class OAuthTable(BaseModel):
    """OAuth settings of one server that cannot be discovered.

    `private_key` is the path of a PEM file; `issuer` the authorization server that knows the client; `redirect_port`
    the port of the redirect URI registered there; `client_metadata_url` the URL of the client ID metadata document.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    client_id: Text | None = None
    client_secret: SecretStr | None = None
    private_key: Text | None = None
    algorithm: Literal["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "EdDSA"] = "ES256"
    issuer: Text | None = None
    scopes: tuple[Text, ...] = ()
    redirect_port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    client_metadata_url: Text | None = None

    @property
    def objection(self) -> str | None:
        """Which settings cannot be combined; None if they are consistent."""
        if self.grant == "client_credentials":
            if self.client_id is None or (self.client_secret is None) == (self.private_key is None):
                return 'grant = "client_credentials" needs client_id, and either client_secret or private_key.'
        elif self.private_key is not None:
            return 'private_key is for grant = "client_credentials".'
        elif self.client_secret is not None and self.client_id is None:
            return "client_secret needs its client_id."
        metadata = self.client_metadata_url
        if metadata is not None and not re.match(r"https://[^/]+/.", metadata):
            return "client_metadata_url must begin with https:// and have a path."
        return None
