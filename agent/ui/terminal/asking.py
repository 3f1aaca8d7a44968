"""A single question to the user during a run that has no chat on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from agent.chat.outbox import Pending
from agent.chat.questions import Answer
from agent.ui.dialogues import Dialogue
from agent.ui.environment import Environment
from agent.ui.keyboard import keyboard
from agent.ui.putting import put

if TYPE_CHECKING:
    from agent.host.host import Host
    from agent.ui.terminal.screen import Screen


async def answer_beside(pending: Pending, environment: Environment, host: Host | None = None) -> None:
    """Ask the user, until there is an answer or the question is withdrawn."""
    if not pending.open:
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(withdraw, pending, tasks.cancel_scope)
        pending.reply(await put(pending.question, lambda asked: ask_beside(asked, environment), host))
        tasks.cancel_scope.cancel()


async def ask_beside(asked: Dialogue, environment: Environment, draft: list[str] | None = None) -> Answer:
    """Draw a question on stderr, so that stdout has the answer only; losing the terminal cancels it.

    Keys typed before the question appeared do not answer it: they are shown in the draft, and returned in `draft`.
    """
    draft = [] if draft is None else draft
    with keyboard(environment.stdin) as typed:
        before = "".join([*draft, typed])
        draft.clear()
        return await _ask(asked, environment, draft, before)


async def _ask(asked: Dialogue, environment: Environment, draft: list[str], typed: str) -> Answer:
    from prompt_toolkit.input import create_input

    from agent.ui.terminal.device import terminal_output, use_color
    from agent.ui.terminal.screen import Reactions, Screen

    screen = Screen(
        Reactions(send=lambda text: draft.append(f"{text}\r"), interrupt=lambda: False, leave=lambda: None),
        input=create_input(environment.stdin),
        output=terminal_output(environment.stderr),
        color=use_color("auto", environment.environ),
        typed=typed,
    )
    answer = Answer("cancel")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_draw, screen, tasks.cancel_scope)
        answer = await screen.ask(asked)
        screen.close()
    draft.append(screen.draft.text)
    return answer


async def withdraw(pending: Pending, shown: anyio.CancelScope) -> None:
    """Remove a question from the screen once it is withdrawn."""
    await pending.withdrawn.wait()
    shown.cancel()


async def _draw(screen: Screen, asked: anyio.CancelScope) -> None:
    try:
        await screen.run()
    except EOFError:
        asked.cancel()
