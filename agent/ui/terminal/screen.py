"""One prompt-toolkit application for the whole chat: it reads all keys and draws the bottom region of the screen.

Finished output is written above the region and never redrawn. The terminal stays in raw mode throughout, so that
Ctrl-C arrives as a key, and input typed ahead is kept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.layout import (
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output

from agent.chat.questions import Answer
from agent.ui.dialogues import Dialogue
from agent.ui.guarding import Guarded
from agent.ui.terminal.cells import cell_len
from agent.ui.terminal.floor import Floor
from agent.ui.terminal.input_lines import entry_rows, history_in, input_line, keep_typed, prefill
from agent.ui.terminal.keys import key_bindings
from agent.ui.terminal.keystrokes import Keystrokes
from agent.ui.terminal.reflow import ReflowingApplication
from agent.ui.terminal.region import Region
from agent.ui.terminal.style import STYLE, lined

STATUS_ROWS = 1


@dataclass(slots=True)
class Reactions:
    """Callbacks of the chat for keys that the screen does not handle itself."""

    send: Callable[[str], None]
    interrupt: Callable[[], bool]
    """Cancels what runs; False if nothing does."""
    leave: Callable[[], None]


class Screen:
    def __init__(
        self,
        reactions: Reactions,
        *,
        input: Input,
        output: Output,
        completer: Completer | None = None,
        history: Path | None = None,
        color: bool = True,
        typed: str = "",
        keystrokes: Keystrokes | None = None,
    ) -> None:
        self.region = Region()
        self.keystrokes = keystrokes or Keystrokes()
        if keep_typed(input, typed):
            self.keystrokes.struck()
        self._reactions, self._output = reactions, output
        self._floor = Floor(self.keystrokes)
        self._answered = anyio.Event()
        self._typing = False
        self.draft = Buffer(
            multiline=True, completer=completer, complete_while_typing=True, history=history_in(history), name="draft"
        )
        self.draft.on_text_changed += lambda _: self._forget_hint()
        self.entry = Buffer(multiline=False, name="entry")
        # It is focusable because a question answered by a single key has no input line to focus.
        self._region_window = Window(FormattedTextControl(self._above, focusable=True), dont_extend_height=True)
        self._entry_window = input_line(self.entry, "? ", lambda: entry_rows(self._output.get_size().rows))
        self.app = ReflowingApplication(
            layout=self._layout(),
            key_bindings=key_bindings(self),
            style=STYLE,
            color_depth=None if color else ColorDepth.MONOCHROME,
            erase_when_done=True,
            min_redraw_interval=0.03,
            input=input,
            output=output,
        )
        self.app.key_processor.before_key_press += self._struck

    @property
    def width(self) -> int:
        return self._output.get_size().columns

    async def run(self) -> None:
        """Show the prompt until `close` is called.

        Raises:
            EOFError: the terminal is gone.
        """
        await self.app.run_async(handle_sigint=False)

    def close(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def print(self, text: str) -> None:
        """Write ANSI text above the bottom region, permanently."""
        if text:
            self._rewrite(text)

    def refresh(self) -> None:
        """Redraw after something in the region has changed."""
        self.app.invalidate()

    def shrink(self) -> None:
        """Redraw after something in the region was removed: the rest moves up."""
        self._rewrite("")

    async def ask(self, dialogue: Dialogue, address: str = "") -> Answer:
        """Ask a question in place of the input line; one at a time, and only once the user has stopped typing.

        Cancellation removes it. An `address` that is too wide for one row is also printed above it, unwrapped.
        """
        asked = Guarded(dialogue)
        async with self._next_to_ask(dialogue):
            self.print(f"{address}\n" if cell_len(address) > self.width else "")
            self.region.dialogue, self._answered = asked, anyio.Event()
            self._focus()
            try:
                await self._answered.wait()
            finally:
                self.region.dialogue = None
                self._focus()
        assert asked.answer is not None
        return asked.answer

    @asynccontextmanager
    async def _next_to_ask(self, dialogue: Dialogue) -> AsyncIterator[None]:
        """Wait for the lock, in the order of arrival; waiting questions are listed on the screen."""
        waiting = self.region.waiting
        waiting.append(dialogue)
        self.refresh()
        try:
            await self._floor.get()
        finally:
            waiting.remove(dialogue)
            self.refresh()
        try:
            yield
        finally:
            self._floor.leave()

    async def type_out(self, text: str, pause: float) -> None:
        """Type `text` visibly, with `pause` seconds before each character; Enter is ignored until the end."""
        self.draft.reset()
        self._typing = True
        for letter in text:
            await anyio.sleep(pause)
            self.draft.insert_text(letter)
        self._typing = False

    def enter(self) -> None:
        """The Enter key: send the draft, or answer the question."""
        self.region.hint = ""
        if dialogue := self.region.dialogue:
            if not dialogue.typing:
                self.press("enter")
                return
            if self.entry.text.strip() == "?" and dialogue.details:
                self.print(dialogue.read_out() + "\n")
            else:
                dialogue.enter(self.entry.text)
            self._answer_moved(dialogue)
        elif self.draft.text.strip() and not self._typing:
            text = self.draft.text
            self.draft.append_to_history()
            self.draft.reset()
            self._reactions.send(text)

    def press(self, key: str) -> None:
        """A key for a question that takes single keys."""
        dialogue = self.region.dialogue
        if dialogue is None:
            return
        dialogue.in_sight = self.region.shows_all(self.width, self._rows)
        if self.turn(key):
            dialogue.look_on()
        elif key in ("v", "?") and dialogue.details:
            self.print(dialogue.read_out() + "\n")
        else:
            dialogue.press(key)
            self._answer_moved(dialogue)

    def turn(self, key: str) -> bool:
        """A key that turns a page of a question; False if it turned none."""
        turned = self.region.turn(key, self.width, self._rows)
        self.refresh()
        return turned

    def interrupt(self) -> None:
        """Ctrl-C: answers a question with cancel, else cancels what runs, else clears the line."""
        self.region.hint = ""
        if self.region.dialogue:
            self.press("cancel")
        elif self._reactions.interrupt():
            self.restore_queued()
        elif self.draft.text:
            self.draft.reset()
        else:
            self.region.hint = "Ctrl-D leaves."
        self.refresh()

    def leave(self) -> None:
        """Ctrl-D on an empty line."""
        self._reactions.leave()

    def restore_queued(self) -> None:
        """Move queued lines back into the draft."""
        if self.region.queued:
            text = "\n".join([*self.region.queued, *filter(None, [self.draft.text])])
            self.region.queued.clear()
            self.draft.set_document(Document(text, len(text)))
            self.shrink()

    def _struck(self, sender: object) -> None:
        """Count a key press as typing, unless it goes to a question."""
        if self.region.dialogue is None:
            self.keystrokes.struck()

    def _forget_hint(self) -> None:
        self.region.hint = ""

    def _answer_moved(self, dialogue: Dialogue) -> None:
        if dialogue.answer is not None:
            self._answered.set()
        else:
            self._focus()

    def _focus(self) -> None:
        """Move the focus to the question, or back to the draft, which is unchanged."""
        dialogue = self.region.dialogue
        if dialogue and dialogue.typing:
            prefill(self.entry, dialogue.prefill, selected=dialogue.is_default)
            self.app.layout.focus(self.entry)
        else:
            self.app.layout.focus(self._region_window if dialogue else self.draft)
        self.shrink()

    def _rewrite(self, text: str) -> None:
        if not self.app.is_running or self.app.is_done:
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()
            return
        # prompt-toolkit's run_in_terminal would leave raw mode: keys typed meanwhile would be echoed, and Ctrl-C would
        # raise a signal.
        self.app.renderer.erase(leave_alternate_screen=False)
        self._output.write_raw(text.replace("\n", "\r\n"))
        self._output.flush()
        assert self.app.context is not None
        self.app.render_counter += 1  # invalidates the controls' cached content, which is keyed by this counter
        self.app.context.copy().run(self.app.renderer.render, self.app, self.app.layout)

    def _layout(self) -> Layout:
        asked = Condition(lambda: self.region.dialogue is not None)
        typing = Condition(lambda: self.region.dialogue is not None and self.region.dialogue.typing)
        above = ConditionalContainer(self._region_window, asked | Condition(lambda: bool(self._above())))
        draft = ConditionalContainer(input_line(self.draft, "› "), ~asked)
        entry = ConditionalContainer(self._entry_window, typing)
        below = ConditionalContainer(Window(FormattedTextControl(self._below), dont_extend_height=True), asked)
        status = Window(FormattedTextControl(self._status), height=1)
        menu = CompletionsMenu(max_height=8, scroll_offset=1)
        return Layout(HSplit([above, draft, entry, below, menu, status], align=VerticalAlign.TOP), self.draft)

    @property
    def _rows(self) -> int:
        """The rows of the window without the status and without the line on which a question is answered."""
        rows, dialogue = self._output.get_size().rows, self.region.dialogue
        is_typed = dialogue is not None and dialogue.typing
        entry = self._entry_window.preferred_height(self.width, rows).preferred if is_typed else 0
        return max(1, rows - STATUS_ROWS - entry)

    def _above(self) -> StyleAndTextTuples:
        return lined(self.region.drawn(self.width, self._rows)[0])

    def _below(self) -> StyleAndTextTuples:
        return lined(self.region.drawn(self.width, self._rows)[1])

    def _status(self) -> StyleAndTextTuples:
        if self.region.hint:
            return [("class:hint", f"  {self.region.hint}")]
        return [("class:status", f"  {self.region.status_within(self.width - 2)}")]
