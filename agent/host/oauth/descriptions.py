"""Reads the metadata of a server and its authorization server, because the SDK does not report why it is invalid."""

from __future__ import annotations

from typing import Any

import httpx2
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic import ValidationError
from pydantic_core import from_json

from agent.mcp.exchange import masked

_OF_AUTHORIZATION_SERVERS = ("/oauth-authorization-server", "/openid-configuration")


class Descriptions:
    """`fault` says why the last metadata document cannot be used; `issuer` is the one in the authorization server's.

    A missing document, as with other servers, is not a fault.
    """

    def __init__(self) -> None:
        self.fault, self.issuer = "", ""
        self._named: list[str] = []

    @property
    def agree(self) -> bool:
        """Whether the issuer is one that the server names, compared as exact strings (RFC 8414, section 3.3)."""
        return not (self._named and self.issuer) or self.issuer in self._named

    def read(self, answer: httpx2.Response) -> str | None:
        """The issuer in a response, if it is valid authorization server metadata."""
        if answer.request.method != "GET":
            return None
        is_of_issuer = any(part in answer.request.url.path for part in _OF_AUTHORIZATION_SERVERS)
        if answer.status_code >= 500 or answer.status_code == 429:
            self.fault = f"{masked(str(answer.request.url))} answered with {answer.status_code}"
        document = _object(answer)
        if document is None:
            return None
        try:
            (OAuthMetadata if is_of_issuer else ProtectedResourceMetadata).model_validate(document)
        except ValidationError as error:
            self.fault = f"{_first(error)} ({masked(str(answer.request.url))})"
            return None
        self.fault = ""
        if not is_of_issuer:
            self._named = document["authorization_servers"]
            return None
        self.issuer = document["issuer"]
        return self.issuer


def _object(answer: httpx2.Response) -> dict[str, Any] | None:
    try:
        document = from_json(answer.content) if answer.status_code == 200 else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _first(error: ValidationError) -> str:
    """The first error, with the name of the field."""
    detail = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
