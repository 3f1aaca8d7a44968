"""A question put to the person: a tool may be allowed for good, and says so if it has changed since it was."""

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
    """The person's answer. What is allowed for good is the tool as it was when the question was put."""
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
