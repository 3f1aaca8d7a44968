"""Whom it is about when somebody signs in."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.host.oauth_table import OAuthTable


@dataclass(frozen=True, slots=True)
class Party:
    """A server that is signed in to. `eager` says that it is, even where it refuses without a word on how."""

    name: str
    url: str
    options: OAuthTable = field(default_factory=OAuthTable)
    eager: bool = True
