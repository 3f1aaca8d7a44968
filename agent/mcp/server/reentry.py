"""Questions to a client of the stateless era: the function that asks is left, and run again when the answers are there.

A server of this era asks nothing by itself. It answers a call with `input_required`: the questions, and what it needs
to remember, sealed (section "Multi Round-Trip Requests"). The client calls again with the answers and the seal, to
this process or to another that shares the key. So the function starts anew, is given the answers it had before in the
order of its calls, and gets one question further. What it did before a question, it does again, but not in `once`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from agent.mcp.jsonrpc import INVALID_PARAMS, Params
from agent.mcp.protocol import INPUT_REQUIRED
from agent.mcp.server.ledger import Json, Ledger, checked
from agent.mcp.server.seal import BrokenSeal, Seal, digest
from agent.mcp.session import McpError

TURNS = 5  # of the event loop in which tasks that were started together come to their questions

EFFECT_SECONDS = 60.0  # for effects that have begun beside a question, before the function is left all the same

Tell = Callable[[str, Params], Awaitable[None]]


class Interrupted(BaseException):
    """The function ends here, to be run again. No Exception, so that what handles failures does not see it."""


class ReentryDialogue:
    """One run of a function. `questions` are those it asked that have no answer yet.

    `wants_task` says that the function asked to go on as a task, which it can where `may_begin` is set.
    """

    is_task = False

    def __init__(self, ledger: Ledger, given: Mapping[str, Any], tell: Tell, *, may_begin: bool = False) -> None:
        self.ledger, self._given, self._tell, self._may_begin = ledger, given, tell, may_begin
        self.questions: dict[str, Json] = {}
        self.wants_task = False

    async def ask(self, method: str, params: Params | None, key: str | None) -> Any:
        name = self.ledger.name(key)
        question = {"method": method} if params is None else {"method": method, "params": params}
        answer = self.ledger.recall(name, question)
        if answer is None and name in self._given:
            answer = self.ledger.answers[name] = checked(name, question, self._given[name])
        if answer is None:
            self.questions[name] = question
            await self._leave()
        await anyio.lowlevel.checkpoint()  # whoever was started after us asks after us, this time too
        return answer

    async def tell(self, method: str, params: Params) -> None:
        await anyio.lowlevel.checkpoint()  # a function that only reports must be cancellable too
        await self._tell(method, params)

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        return await self.ledger.once(key, compute)

    async def begin_task(self) -> None:
        if self._may_begin:
            self.wants_task = True
            await self._leave()

    async def release(self) -> None:
        """The client waits for one answer only, and cannot come back for it."""

    async def _leave(self) -> None:
        """Collect what is asked at the same time, and let effects that have begun end."""
        seen = -1
        with anyio.move_on_after(EFFECT_SECONDS):
            while seen != len(self.questions) or self.ledger.has_effects:
                seen = len(self.questions)
                await self.ledger.effects()
                for _ in range(TURNS):
                    await anyio.lowlevel.checkpoint()
        raise Interrupted


class Rounds:
    """The rounds of a call, each of which knows of the one before only what the client brings back under the seal."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def open(self, method: str, params: Params, principal: str | None) -> tuple[Ledger, Mapping[str, Any]]:
        """What earlier rounds settled, and the answers of this one.

        Raises:
            McpError: the state is not ours, not of this request and this caller, or too old; or the answers are none.
        """
        given = params.get("inputResponses")
        if given is not None and not isinstance(given, dict):
            raise McpError(INVALID_PARAMS, "inputResponses must be an object")
        state = params.get("requestState")
        if state is None:
            return Ledger(), given or {}
        try:
            asked, answers, done = self._seal.open(state, _place(method, params, principal))
        except BrokenSeal as broken:
            reason = {"reason": "invalid_request_state"}
            raise McpError(INVALID_PARAMS, f"requestState is not valid: {broken}", reason) from None
        return Ledger(asked, answers, done), given or {}

    def close(self, ledger: Ledger, questions: Json, method: str, params: Params, principal: str | None) -> Json:
        """The result that asks `questions`."""
        memory = (ledger.asked, ledger.answers, ledger.done)
        state = self._seal.close(memory, _place(method, params, principal))
        return {"resultType": INPUT_REQUIRED, "inputRequests": questions, "requestState": state}


async def run_round(dialogue: ReentryDialogue, run: Callable[[], Awaitable[Json]]) -> Json | None:
    """The result, or None if the function could not come to one: then the dialogue has the questions."""
    result: Json | None = None
    try:
        result = await run()
    except Interrupted:
        pass
    except BaseExceptionGroup as group:
        if group.subgroup(Interrupted) is None:
            raise
    return None if dialogue.questions or dialogue.wants_task else result


def _place(method: str, params: Params, principal: str | None) -> str:
    """Whose call it is, and which: all that is the same in every round of it."""
    own = {key: value for key, value in params.items() if key not in ("_meta", "inputResponses", "requestState")}
    return digest([principal, method, own])
