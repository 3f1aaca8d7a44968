"""A host with servers in this process, for tests: everything real but the wire and the person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from agent.chat.events import Event
from agent.chat.outbox import Outbox, Pending
from agent.chat.questions import Answer, Question
from agent.host.browser import OpenPage
from agent.host.config.config import Config
from agent.host.config.models import ServerTable, Settings
from agent.host.host import Host, open_host
from agent.host.model_choice import provider_configs
from agent.mcp import Server, memory
from agent.mcp.envelope import Transport

NOWHERE = Path("/dev/null")
"""A data folder in which nothing can be remembered."""

Person = Callable[[Question], Answer | None]
"""None leaves the question open, in `Scene.open`."""


def configure(
    servers: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    model: str = "mock/demo",
    data_folder: Path = NOWHERE,
    **sections: Mapping[str, Any],
) -> Config:
    """A configuration of these tables, as if they stood in a file. A server without an address is a command."""
    tables = {
        name: ServerTable.model_validate(table if "url" in table else {"command": name, **table})
        for name, table in (servers or {}).items()
    }
    settings = Settings.model_validate(sections)
    why = "a test wants it"
    return Config(settings, tables, provider_configs({}, {}), (), model, why, data_folder=data_folder)


@dataclass
class Scene:
    """A running host, and all that its one reader has seen. `person` answers what is asked."""

    host: Host
    seen: list[Event] = field(default_factory=list)
    open: list[Pending] = field(default_factory=list)
    _moved: anyio.Event = field(default_factory=anyio.Event)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something is so that what the reader sees brings about."""
        while not holds():
            await self._moved.wait()

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def read(self, person: Person | None) -> None:
        async for item in self.host.outbox.items:
            if not isinstance(item, Pending):
                self.seen.append(item)
            elif person is not None and (answer := person(item.question)):
                item.reply(answer)
            else:
                self.open.append(item)
            moved, self._moved = self._moved, anyio.Event()
            moved.set()


async def no_browser(url: str) -> bool:
    raise AssertionError(f"nobody agreed to open {url}")


@asynccontextmanager
async def scene(
    config: Config,
    servers: Mapping[str, Server] | None = None,
    *,
    person: Person | None = None,
    open_transport: Callable[[ServerTable], Transport] | None = None,
    browser: OpenPage = no_browser,
) -> AsyncIterator[Scene]:
    """`servers` by the name of their configured command."""

    def in_memory(table: ServerTable) -> Transport:
        assert servers is not None
        assert table.command is not None
        return memory(servers[table.command])

    outbox = Outbox()
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(5):
            async with open_host(
                config,
                outbox,
                interactive=person is not None,
                open_transport=open_transport or in_memory,
                open_page=browser,
            ) as host:
                view = Scene(host)
                tasks.start_soon(view.read, person)
                await host.settled()
                yield view
            outbox.close()
