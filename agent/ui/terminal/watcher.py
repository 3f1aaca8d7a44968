"""The only reader of the outbox in a chat: it draws events on the screen, and turns questions into dialogues."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio

from agent.chat.events import (
    Event,
    MessageFinished,
    QuestionSettled,
    SampleFinished,
    ServerChanged,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
)
from agent.chat.messages import Usage
from agent.chat.outbox import Outbox, Pending
from agent.chat.questions import ApproveSampling, OpenUrl
from agent.ui.escapes import Cleaner, cleaned, spell
from agent.ui.lines import call_line
from agent.ui.putting import put
from agent.ui.terminal.asking import withdraw
from agent.ui.terminal.blocks import Blocks
from agent.ui.terminal.paint import Painter
from agent.ui.terminal.region import Running
from agent.ui.terminal.samples import Sampled, sampled
from agent.ui.terminal.screen import Screen

if TYPE_CHECKING:
    from agent.host.host import Host

_THOUGHTS = 2_000
"""Characters of the model's thinking that are kept for display."""


class Watcher:
    """Shows the events of the outbox. `turns` is the number of turns whose end has been shown."""

    def __init__(
        self, screen: Screen, painter: Painter, on_change: Callable[[], None], host: Host | None = None
    ) -> None:
        self.usage = Usage()
        self.servers: dict[str, str] = {}
        self.samples: list[Sampled] = []
        self._before: Event | None = None
        self.turns, self._turn_ended, self._following = 0, anyio.Event(), True
        self._screen, self._painter, self._on_change, self._host = screen, painter, on_change, host
        self._blocks, self._cleaner, self._origin = Blocks(), Cleaner(), ""

    async def follow(self, outbox: Outbox) -> None:
        """Read the outbox until it closes. Events are shown above an open question; further questions are queued."""
        try:
            async with anyio.create_task_group() as questions:
                async for item in outbox.items:
                    if not isinstance(item, Pending):
                        self.show(item)
                    elif item.open:
                        self._end_text()
                        questions.start_soon(self._ask, item)
        finally:
            self._following = False
            self._turn_ended.set()

    async def caught_up(self, turns: int) -> None:
        """Wait until the end of that many turns has been shown, or the outbox is closed."""
        while self._following and self.turns < turns:
            self._turn_ended = anyio.Event()
            await self._turn_ended.wait()

    def show(self, event: Event) -> None:
        """Update the screen for `event`."""
        match event:
            case TextArrived(text, origin):
                self._text(text, origin)
                return
            case ThinkingArrived(text):
                self._think(text)
                return
            case MessageFinished():
                self._end_text()
                self.usage += event.usage or Usage()
                self._on_change()
                return
            case _:
                event = cleaned(event)
        self._update(event)
        if not self._is_told(event) and (drawn := self._painter.event(event)) is not None:
            self._screen.print(self._painter.ansi(drawn, self._screen.width))
        self._before = event

    def _is_told(self, event: Event) -> bool:
        """Whether `event` repeats what was shown: stops by the same limit are shown once, with the first question."""
        match event:
            case SampleFinished():
                return bool(self.samples[-1].stopped_by)
            case QuestionSettled(ApproveSampling(server), verdict, "policy", why) if verdict != "accept":
                last = self.samples[-1] if self.samples else None
                return last is not None and (last.event.server, last.stopped_by) == (server, why)
            case _:
                return False

    def _update(self, event: Event) -> None:
        region = self._screen.region
        match event:
            case ToolStarted(call, server, tool):
                region.running[call.id] = Running(call_line(f"{server}/{tool}", call, 80))
            case ToolProgressed(call):
                if running := region.running.get(call.id):
                    running.take(event)
            case ToolFinished(call):
                region.running.pop(call.id, None)
            case ServerChanged(name, state):
                self.servers[name] = state
            case SampleFinished(usage=usage):
                self._end_text()
                self.usage += usage or Usage()
                self.samples.append(sampled(event, self._before, time.time()))
            case TurnEnded():
                self._end_text()
                region.running.clear()
                self.turns += 1
                self._turn_ended.set()
            case _:
                return
        self._on_change()

    async def _ask(self, pending: Pending) -> None:
        """Ask a question, until there is an answer or it is withdrawn."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(withdraw, pending, tasks.cancel_scope)
            address = spell(pending.question.url) if isinstance(pending.question, OpenUrl) else ""
            pending.reply(await put(pending.question, partial(self._screen.ask, address=address), self._host))
            tasks.cancel_scope.cancel()

    def _text(self, text: str, origin: str) -> None:
        if origin != self._origin:
            self._end_text()
            self._origin = origin
            if origin:
                self._line(f"◇ the model answers {origin}:")
        self._screen.region.thinking = ""
        self._print(self._blocks.feed(self._cleaner.feed(text)))
        self._screen.region.tail = self._blocks.tail
        self._screen.refresh()

    def _think(self, text: str) -> None:
        region = self._screen.region
        region.thinking = (region.thinking + cleaned(text))[-_THOUGHTS:]
        self._screen.refresh()

    def _end_text(self) -> None:
        blocks = self._blocks.feed(self._cleaner.finish()) + self._blocks.finish()
        self._screen.region.tail = self._screen.region.thinking = ""
        self._print(blocks)
        self._origin = ""

    def _print(self, blocks: list[str]) -> None:
        if not blocks:
            return
        width = self._screen.width
        painted = [self._painter.ansi(self._painter.markdown(block, self._origin), width) for block in blocks]
        self._screen.region.tail = self._blocks.tail
        self._screen.print("".join("\n" + block.strip("\n") + "\n" for block in painted))

    def _line(self, text: str) -> None:
        self._screen.print(self._painter.text(cleaned(text), self._screen.width, "magenta"))
