"""The interface of OAuth to the rest of the host."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from agent.host.browser import OpenPage
from agent.host.config import values as config_values
from agent.host.config.config import Config
from agent.host.config.models import ServerTable
from agent.host.oauth.browser import Ask, Browsing
from agent.host.oauth.party import Party
from agent.host.oauth.store import open_store

if TYPE_CHECKING:
    from agent.host.oauth.access import Access

Hide = Callable[[set[str]], None]
Pausing = Callable[[], AbstractContextManager[None]]


class SignIns:
    """The OAuth state of all servers. With `ask` None, nobody can be asked to sign in.

    `hide` is called with every new secret.
    """

    def __init__(self, config: Config, hide: Hide, ask: Ask | None, open_page: OpenPage) -> None:
        self._config, self._hide, self._ask, self._open_page = config, hide, ask, open_page
        self._secrets: set[str] = set()

    def access(self, name: str, table: ServerTable, pausing: Pausing) -> Access | None:
        """Authorizes requests to a server; None without OAuth. `pausing` is entered while a person signs in."""
        if not signs_in(table):
            return None
        from agent.host.oauth.access import Access

        ask = self._ask
        redirecting = Browsing(name, ask, self._open_page, pausing).redirecting if ask else None
        folder = self._config.data_folder
        return Access(party_of(self._config, name, table), open_store(folder), folder, redirecting, self._learn)

    def mask(self, text: str) -> str:
        """`text` with every token masked."""
        return config_values.mask(text, self._secrets)

    def _learn(self, secrets: set[str]) -> None:
        self._secrets |= secrets
        self._hide(secrets)


def signs_in(table: ServerTable) -> bool:
    """Whether OAuth may be used: for a URL, unless `auth` is "none" or an `Authorization` header is configured."""
    return table.url is not None and table.auth != "none" and (table.auth == "oauth" or not holds_token(table))


def holds_token(table: ServerTable) -> bool:
    """Whether the configuration has an `Authorization` header for the server."""
    return any(name.lower() == "authorization" for name in table.headers)


def party_of(config: Config, name: str, table: ServerTable) -> Party:
    assert table.url is not None
    known = (table.url,) if name in config.added else (name, *config.files)
    return Party(name, table.url, table.oauth, eager=table.auth == "oauth", login=("login", *known))
