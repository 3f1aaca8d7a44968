"""Whom it is about when somebody signs in."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from agent.host.oauth.table import OAuthTable


@dataclass(frozen=True, slots=True)
class Party:
    """A server that is signed in to. `eager` says that it is, even where it refuses without a word on how.

    `login` are the words that sign in to it, where more is needed than its name.
    """

    name: str
    url: str
    options: OAuthTable = field(default_factory=OAuthTable)
    eager: bool = True
    login: tuple[str, ...] = ()

    @property
    def login_command(self) -> str:
        """What a person types to sign in, in a run like this one."""
        return shlex.join(("mcp-chat", *(self.login or ("login", self.name))))
