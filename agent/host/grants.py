"""What the person has granted a server: for this session, or permanently in the data folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agent.chat.questions import Answer
from agent.host.config.models import ServerTable
from agent.host.remembered import Memory, identity

Grant = Literal["sampling", "review", "roots"]
"""To use the model without approval, to get replies without review, to see the roots."""


class Grants:
    """A grant is bound to the server's configuration: another command under the same name has no grants."""

    def __init__(self, path: Path, servers: Mapping[str, ServerTable]) -> None:
        self._memory, self._servers = Memory(path), servers
        self._session: set[tuple[str, Grant]] = set()

    def has(self, server: str, grant: Grant) -> bool:
        return (server, grant) in self._session or grant in self.standing(server)

    def standing(self, server: str) -> list[str]:
        """What is granted permanently."""
        entry = self._memory.read().get(self._identity(server))
        grants = entry.get("grants") if isinstance(entry, dict) else None
        return [grant for grant in grants if isinstance(grant, str)] if isinstance(grants, list) else []

    def take(self, server: str, grant: Grant, answer: Answer) -> None:
        """Record what an answer grants. If it cannot be written, it is valid for the session."""
        if answer.verdict != "accept" or answer.remember == "once":
            return
        self._session.add((server, grant))
        if answer.remember == "always":
            self._write(server, sorted({*self.standing(server), grant}))

    def for_session(self, server: str) -> list[str]:
        """What is granted until the program ends, but not permanently."""
        standing = self.standing(server)
        return sorted(grant for name, grant in self._session if name == server and grant not in standing)

    def withdraw(self, server: str, *grants: Grant) -> None:
        """Revoke these grants."""
        self._session -= {(server, grant) for grant in grants}
        standing = self.standing(server)
        left = [grant for grant in standing if grant not in grants]
        if left != standing:
            self._write(server, left)

    def _write(self, server: str, grants: list[str]) -> None:
        known = {**self._memory.read()}
        known.pop(self._identity(server), None)
        if grants:
            known[self._identity(server)] = {"server": server, "grants": grants}
        with suppress(OSError):
            self._memory.write(known)

    def _identity(self, server: str) -> str:
        return identity(server, self._servers.get(server))
