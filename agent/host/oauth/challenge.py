"""Parses `WWW-Authenticate` (RFC 9110, section 11; RFC 6750, section 3; RFC 9728, section 5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = r"[\w!#$%&'*+.^`|~-]+"
_PARAMETER = re.compile(rf"({_TOKEN})\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]+))")
_SCHEME = re.compile(rf"({_TOKEN})(?=\s|,|$)")
_FILLER = re.compile(r"[\s,]+")
TOO_LITTLE = "insufficient_scope"


@dataclass(frozen=True, slots=True)
class Challenge:
    """`scope` is None if the server names none; `metadata` is the URL of its protected resource metadata."""

    status: int = 401
    error: str = ""
    scope: str | None = None
    metadata: str | None = None

    @property
    def is_step_up(self) -> bool:
        """Whether the token was accepted, but a larger scope is required."""
        return self.status == 403

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset((self.scope or "").split())

    @property
    def header(self) -> bytes:
        """The value of an equivalent `WWW-Authenticate` header."""
        said = {"error": self.error or None, "scope": self.scope, "resource_metadata": self.metadata}
        pairs = ", ".join(f'{name}="{value}"' for name, value in said.items() if value is not None)
        return f"Bearer {pairs}".encode()


def read_challenge(status: int, header: str) -> Challenge | None:
    """The challenge of a response with this status, if authorization may help; else None.

    A 403 counts only if it says that the scope is insufficient (section "Authorization, Scope Challenge").
    """
    parameters = next((found for scheme, found in _challenges(header) if scheme == "bearer"), None)
    if parameters is None or not (status == 401 or (status == 403 and parameters.get("error") == TOO_LITTLE)):
        return None
    scope, metadata = parameters.get("scope"), parameters.get("resource_metadata")
    return Challenge(status, parameters.get("error", ""), scope or None, metadata or None)


def _challenges(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each scheme, in lower case, with its parameters; of several with the same name the first is used."""
    scheme, parameters, position = "", dict[str, str](), 0
    while position < len(header):
        if filler := _FILLER.match(header, position):
            position = filler.end()
        elif parameter := _PARAMETER.match(header, position):
            name, quoted, plain = parameter.groups()
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain)
            position = parameter.end()
        elif named := _SCHEME.match(header, position):
            yield scheme, parameters
            scheme, parameters, position = named[1].lower(), {}, named.end()
        else:
            position += 1
    yield scheme, parameters
