"""A host whose person signs in by themselves, for tests of that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from agent.chat.outbox import Outbox
from agent.chat.questions import Answer, FillForm, OpenUrl, Question
from agent.host.host import open_host
from tests.host.scene import Scene, configure


@dataclass
class Person:
    """Says yes, and follows a page to where it leads, as a browser does; or brings back by hand where it led to."""

    has_browser: bool = True
    asked: list[Question] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer("accept", {"address": self.address} if isinstance(question, FillForm) else None)

    async def open_page(self, url: str) -> bool:
        if self.has_browser:
            self.pages.append(await follow(url))
        else:
            self.address = await location(url)
        return self.has_browser

    @property
    def urls(self) -> list[str]:
        return [question.url for question in self.asked if isinstance(question, OpenUrl)]


async def follow(url: str) -> str:
    """What a browser would show in the end."""
    async with httpx2.AsyncClient(trust_env=False, verify=False) as browser:
        return (await browser.get(url, follow_redirects=True)).text


async def location(url: str) -> str:
    """Where a browser on another machine would be sent, and could not go."""
    async with httpx2.AsyncClient(trust_env=False, verify=False) as browser:
        return (await browser.get(url)).headers["location"]


@asynccontextmanager
async def hosted(folder: Path, person: Person | None, **tables: Any) -> AsyncIterator[Scene]:
    """Servers by name; without a person nobody can be asked."""
    config, outbox = configure(tables, data_folder=folder), Outbox()
    page = {"open_page": person.open_page} if person else {}
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(10):
            async with open_host(config, outbox, interactive=person is not None, **page) as host:
                view = Scene(host)
                tasks.start_soon(view.read, person.answer if person else None)
                await host.settled()
                yield view
            outbox.close()
