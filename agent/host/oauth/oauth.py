"""Signing in to servers, as the rest of the host sees it."""

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
    """All servers that somebody signs in to, or may have to. Nobody is asked where `ask` is None.

    `hide` is told of every secret that comes up.
    """

    def __init__(self, config: Config, hide: Hide, ask: Ask | None, open_page: OpenPage) -> None:
        self._config, self._hide, self._ask, self._open_page = config, hide, ask, open_page
        self._secrets: set[str] = set()

    def access(self, name: str, table: ServerTable, pausing: Pausing) -> Access | None:
        """What signs the requests to a server; None where nobody ever signs in. `pausing` is held while one does."""
        if not signs_in(table):
            return None
        from agent.host.oauth.access import Access

        ask = self._ask
        redirecting = Browsing(name, ask, self._open_page, pausing).redirecting if ask else None
        folder = self._config.data_folder
        return Access(party_of(self._config, name, table), open_store(folder), folder, redirecting, self._learn)

    def mask(self, text: str) -> str:
        """`text` without any token in it."""
        return config_values.mask(text, self._secrets)

    def _learn(self, secrets: set[str]) -> None:
        self._secrets |= secrets
        self._hide(secrets)


def signs_in(table: ServerTable) -> bool:
    """Whether somebody may have to sign in: not on this machine, and not where the configuration holds a token."""
    return table.url is not None and table.auth != "none" and (table.auth == "oauth" or not holds_token(table))


def holds_token(table: ServerTable) -> bool:
    """Whether the configuration says what a server is to be told about who asks."""
    return any(name.lower() == "authorization" for name in table.headers)


def party_of(config: Config, name: str, table: ServerTable) -> Party:
    assert table.url is not None
    known = (table.url,) if name in config.added else (name, *config.files)
    return Party(name, table.url, table.oauth, eager=table.auth == "oauth", login=("login", *known))
