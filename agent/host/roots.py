"""The roots of a server: folders configured for it, and folders for all servers that the person agrees to share.

They are information, not access control: a local server can read whatever its user can (section "Roots").
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agent.chat.events import Noticed
from agent.chat.outbox import Outbox
from agent.chat.questions import ShareRoots
from agent.host.config.config import Config
from agent.host.config.values import absolute
from agent.host.errors import HostError
from agent.host.grants import Grants


class Roots:
    """`shared` roots are for every server, with the person's consent; a server's own roots need no consent."""

    def __init__(self, config: Config, outbox: Outbox, grants: Grants, *, interactive: bool) -> None:
        self._config, self._outbox, self._grants = config, outbox, grants
        self._interactive = interactive
        self.shared: list[str] = list(config.settings.chat.roots)
        self._refused: set[tuple[str, tuple[str, ...]]] = set()

    def can_answer(self, server: str) -> bool:
        """Whether to declare the capability to `server`: also true if a person may add roots later."""
        return self._interactive or bool(self.own(server))

    def own(self, server: str) -> tuple[str, ...]:
        table = self._config.servers.get(server)
        return table.roots if table else ()

    async def answer(self, server: str) -> dict[str, object]:
        """The result of `roots/list`."""
        own = self.own(server)
        more = tuple(folder for folder in self.shared if folder not in own)
        shared = more if more and await self._may_share(server, more) else ()
        return {"roots": [_root(Path(folder)) for folder in (*own, *shared)]}

    async def _may_share(self, server: str, folders: tuple[str, ...]) -> bool:
        """A refusal is remembered for the same folders."""
        if self._grants.has(server, "roots"):
            return True
        if (server, folders) in self._refused:
            return False
        answer = await self._outbox.ask(ShareRoots(server, folders))
        if answer.verdict != "accept":
            self._refuse(server, folders)
        self._grants.take(server, "roots", answer)
        return answer.verdict == "accept"

    def _refuse(self, server: str, folders: tuple[str, ...]) -> None:
        self._refused.add((server, folders))
        if self._interactive:
            said = "It will not be told of these folders in this session, and you will not be asked again;"
            self._outbox.emit(Noticed(server, "notice", f"{said} /roots forget {server} changes that."))

    def standing(self, server: str) -> str:
        """The lasting answer given to `server`, as the end of a sentence; empty if there is none."""
        if "roots" in self._grants.standing(server):
            return "may always know them"
        if self._grants.has(server, "roots"):
            return "may know them in this session"
        return "was refused, for this session" if any(name == server for name, _ in self._refused) else ""

    def forget(self, server: str) -> None:
        """Forget the person's answer, so that they are asked again."""
        self._refused = {(name, folders) for name, folders in self._refused if name != server}
        self._grants.withdraw(server, "roots")

    def add(self, folder: str, cwd: Path) -> str:
        """Add a folder for all servers; returns its absolute path.

        Raises:
            HostError: there is no such folder.
        """
        path = absolute(folder, cwd)
        if not path.is_dir():
            raise HostError(f"There is no folder {path}.")
        if str(path) not in self.shared:
            self.shared.append(str(path))
        return str(path)

    def remove(self, folder: str, cwd: Path) -> str:
        """Remove a folder for all servers; returns its absolute path.

        Raises:
            HostError: it is not one of them.
        """
        path = str(absolute(folder, cwd))
        if path not in self.shared:
            raise HostError(f"{path} is not shared. {_listed(self.shared)}")
        self.shared.remove(path)
        return path


def _root(folder: Path) -> dict[str, str]:
    return {"uri": folder.as_uri(), "name": folder.name or str(folder)}


def _listed(folders: Iterable[str]) -> str:
    shared = ", ".join(folders)
    return f"Shared are {shared}." if shared else "No folder is."
