"""Asks the user a question; a tool may be allowed always, with a warning if its definition has changed since."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agent.chat.questions import Answer, ApproveTool, Question
from agent.ui.dialogues import Choosing, Dialogue, dialogue
from agent.ui.escapes import spell

if TYPE_CHECKING:
    from agent.host.host import Host

Ask = Callable[[Dialogue], Awaitable[Answer]]
ALWAYS = Answer("accept", remember="always")


async def put(question: Question, ask: Ask, host: Host | None) -> Answer:
    """The user's answer. "always" is stored with the tool's definition as it was when the question was asked."""
    if host is None or not isinstance(question, ApproveTool):
        return await ask(dialogue(question))
    definition = host.catalogue.definition(question.server, question.tool)
    if definition is None:
        return await ask(dialogue(question))
    answer = await ask(_with_always(dialogue(question), host.approvals.change(question.server, definition)))
    if answer.remember == "always":
        host.approvals.keep(question.server, definition)
    return answer


def _with_always(asked: Dialogue, change: str) -> Dialogue:
    assert isinstance(asked, Choosing)
    *first, last = asked.keys.items()
    asked.keys = dict([*first, ("a", ("always", ALWAYS)), last])
    if change:
        asked.above = (*asked.above, ("warning", f"! {spell(change)}"))
    return asked
