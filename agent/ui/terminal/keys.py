"""The key bindings; everything else is prompt-toolkit's own line editing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completion, get_common_complete_suffix
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from agent.ui.terminal.paging import PAGE_DOWN, PAGE_UP

if TYPE_CHECKING:
    from agent.ui.terminal.screen import Screen


TAB = CompleteEvent(completion_requested=True)


def key_bindings(screen: Screen) -> KeyBindings:
    """Enter sends; Alt-Enter, Esc Enter and Ctrl-J insert a newline, so that an unbracketed paste stays one message."""
    keys = KeyBindings()
    asked = Condition(lambda: screen.region.dialogue is not None)
    choosing = Condition(lambda: (dialogue := screen.region.dialogue) is not None and not dialogue.typing)
    typing = asked & ~choosing
    empty = Condition(lambda: not screen.draft.text)

    keys.add("enter")(lambda event: screen.enter())
    keys.add("c-c", eager=True)(lambda event: screen.interrupt())
    keys.add("<sigint>")(lambda event: screen.interrupt())
    keys.add("c-d", filter=~asked & empty)(lambda event: screen.leave())
    keys.add("c-d", filter=asked)(lambda event: screen.press("cancel"))
    keys.add("c-x", filter=asked, eager=True)(lambda event: screen.press("decline"))
    keys.add("s-tab", filter=asked)(lambda event: screen.press("back"))

    keys.add("pagedown", filter=typing)(lambda event: screen.turn(PAGE_DOWN))
    keys.add("pageup", filter=typing)(lambda event: screen.turn(PAGE_UP))

    @keys.add("c-j", filter=~choosing)
    @keys.add("escape", "enter", filter=~choosing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.Any, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.press(event.data.lower())

    @keys.add(Keys.BracketedPaste, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        """A paste never answers a question."""

    keys.add("tab", filter=~asked)(lambda event: _complete(event, screen.draft))
    return keys


def _complete(event: KeyPressEvent, buffer: Buffer) -> None:
    """Complete synchronously, so that a Tab typed fast has an effect. If nothing is known here, servers are asked."""
    if buffer.complete_state:
        buffer.complete_next()
    elif found := list(buffer.completer.get_completions(buffer.document, TAB)):
        _offer(buffer, found)
    else:
        event.app.create_background_task(_ask(buffer))


async def _ask(buffer: Buffer) -> None:
    document = buffer.document
    found = [one async for one in buffer.completer.get_completions_async(document, TAB)]
    if buffer.document == document:
        _offer(buffer, found)


def _offer(buffer: Buffer, found: list[Completion]) -> None:
    """Insert the only completion, or what all of them have in common; else show them as a menu."""
    if len(found) == 1:
        buffer.apply_completion(found[0])
    elif certain := get_common_complete_suffix(buffer.document, found):
        buffer.insert_text(certain)
    elif found:
        buffer.start_completion()
