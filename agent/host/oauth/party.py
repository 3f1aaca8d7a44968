"""The server that somebody signs in to."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from agent.host.oauth.table import OAuthTable


@dataclass(frozen=True, slots=True)
class Party:
    """A server that uses OAuth. `eager`: OAuth is configured, so it is tried even if the server's 401 gives no details.

    `login` are the command line arguments to sign in to it, if its name is not enough.
    """

    name: str
    url: str
    options: OAuthTable = field(default_factory=OAuthTable)
    eager: bool = True
    login: tuple[str, ...] = ()

    @property
    def login_command(self) -> str:
        """The command that signs in, with the options of this run."""
        return shlex.join(("mcp-chat", *(self.login or ("login", self.name))))
