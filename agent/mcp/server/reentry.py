"""Multi Round-Trip Requests (stateless era): a function that asks is interrupted, and run again with the answers.

A server of this era sends no requests. It answers a call with an `InputRequiredResult`: the input requests, and its
own state, sealed (section "Multi Round-Trip Requests"). The client repeats the call with the responses and the state,
to this process or to another that shares the key. The function then starts from the beginning, is given the known
answers in the order of its questions, and continues to the next question. Code before a question runs again, except
in `once`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, Params
from agent.mcp.protocol import INPUT_REQUIRED
from agent.mcp.server.ledger import Json, Ledger, checked
from agent.mcp.server.seal import BrokenSeal, Seal, digest

TURNS = 5  # iterations of the event loop in which concurrent tasks may reach their questions

EFFECT_SECONDS = 60.0  # for running effects to end, before the function is interrupted in any case

Tell = Callable[[str, Params], Awaitable[None]]


class Interrupted(BaseException):
    """Ends a run of the function. A BaseException, so that `except Exception` in it does not catch it."""


class ReentryDialogue:
    """The `Dialogue` of one run of a function. `questions` are those that have no answer yet.

    `wants_task` is set if the function asked to continue as a task, which is possible if `may_begin` is set.
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
        await anyio.lowlevel.checkpoint()  # concurrent tasks must ask in the same order in every run
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
        """The stateless era cannot resume a response stream."""

    async def _leave(self) -> None:
        """Interrupt the function, once the questions of concurrent tasks are collected and effects have ended."""
        seen = -1
        with anyio.move_on_after(EFFECT_SECONDS):
            while seen != len(self.questions) or self.ledger.has_effects:
                seen = len(self.questions)
                await self.ledger.effects()
                for _ in range(TURNS):
                    await anyio.lowlevel.checkpoint()
        raise Interrupted


class Rounds:
    """Reads and writes the state between the rounds of a call, which the client carries as `requestState`."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def open(self, method: str, params: Params, principal: str | None) -> tuple[Ledger, Mapping[str, Any]]:
        """The state of earlier rounds, and the responses of this one.

        Raises:
            McpError: the state is forged, expired, or of another request or principal; or the responses are malformed.
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
        """The `InputRequiredResult`."""
        memory = (ledger.asked, ledger.answers, ledger.done)
        state = self._seal.close(memory, _place(method, params, principal))
        return {"resultType": INPUT_REQUIRED, "inputRequests": questions, "requestState": state}


async def run_round(dialogue: ReentryDialogue, run: Callable[[], Awaitable[Json]]) -> Json | None:
    """The result, or None if the function was interrupted: then the dialogue has the questions."""
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
    """A digest of the principal, the method and the params, which are the same in every round of a call."""
    own = {key: value for key, value in params.items() if key not in ("_meta", "inputResponses", "requestState")}
    return digest([principal, method, own])
