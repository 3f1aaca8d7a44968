"""A screen in memory: what the application draws, and keys pressed by the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pyte
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from agent.ui.terminal.keystrokes import Keystrokes
from agent.ui.terminal.screen import Reactions, Screen


class Canvas:
    """Takes what is written to a terminal, and knows what it looks like."""

    encoding = "utf-8"

    def __init__(self, rows: int = 24, columns: int = 60) -> None:
        self.size = Size(rows, columns)
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)
        self._drawn = anyio.Event()
        self.written = ""
        self.output = Vt100_Output(self, lambda: self.size, term="xterm", enable_cpr=False)  # type: ignore[arg-type]

    def write(self, text: str) -> int:
        self.written += text
        self._stream.feed(text)
        return len(text)

    def flush(self) -> None:
        drawn, self._drawn = self._drawn, anyio.Event()
        drawn.set()

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("there is no file")

    @property
    def rows(self) -> list[str]:
        rows = [row.rstrip() for row in self.screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until the screen is so. `holds` is asked after each drawing only: what comes later is not seen."""
        with anyio.fail_after(5):
            while not holds():
                await self._drawn.wait()

    async def shows(self, *rows: str) -> None:
        """Wait until exactly these rows stand on the screen."""
        try:
            await self.until(lambda: self.rows == list(rows))
        except TimeoutError:
            raise AssertionError("\n".join(["the screen says:", *self.rows, "but should:", *rows])) from None

    async def reads(self, text: str) -> None:
        await self.until(lambda: text in "\n".join(self.rows))


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self._now, self._moved = 0.0, anyio.Event()
        self.keystrokes = Keystrokes(lambda: self._now, self._sleep)

    def advance(self, seconds: float) -> None:
        self._now += seconds
        moved, self._moved = self._moved, anyio.Event()
        moved.set()

    async def _sleep(self, seconds: float) -> None:
        until = self._now + seconds
        while self._now < until:
            await self._moved.wait()


@dataclass
class Stage:
    """A running screen, and what it asked the chat to do."""

    screen: Screen
    canvas: Canvas
    keys: PipeInput
    sent: list[str] = field(default_factory=list)
    interrupts: int = 0
    busy: bool = False

    def press(self, text: str) -> None:
        self.keys.send_text(text)


@asynccontextmanager
async def stage(rows: int = 24, columns: int = 60, **more: Any) -> AsyncIterator[Stage]:
    with create_pipe_input() as keys:
        canvas = Canvas(rows, columns)
        made: list[Stage] = []

        def interrupt() -> bool:
            made[0].interrupts += 1
            return made[0].busy

        reactions = Reactions(lambda text: made[0].sent.append(text), interrupt, lambda: made[0].screen.close())
        screen = Screen(reactions, input=keys, output=canvas.output, **more)
        made.append(Stage(screen, canvas, keys))
        screen.region.status = "status"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(screen.run)
            await canvas.reads("status")
            yield made[0]
            screen.close()
