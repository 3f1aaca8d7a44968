"""What a server of the stateless era wants to know before it answers (section "Multi Round-Trip Requests", 2026-07-28).

Instead of asking us in the middle of our request, it answers the request with its questions. We answer them all, and
send the request again. `state` is the server's own: it goes back as it came, with that one request, and nobody looks
into it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from agent.mcp.jsonrpc import Failure, Params, Request, Result
from agent.mcp.lifecycle import CLIENT_METHODS
from agent.mcp.protocol import ASKING
from agent.mcp.session import McpError, Unreadable

Handle = Callable[[Request, Mapping[str, Any]], Awaitable[Result | Failure]]
Questions = Mapping[str, Request]
"""By the server's key; the id of each request is that key."""


class WishRefused(McpError):
    """The server's wish was refused on our side, so its call was given up. The server did not say this: we do."""


@dataclass(frozen=True, slots=True)
class Wishes:
    questions: Questions
    state: str | None

    def answered(self, answers: Mapping[str, Any]) -> Params:
        """What is added to the params of the request, to send it again."""
        responses = {"inputResponses": dict(answers)} if self.questions else {}
        return responses if self.state is None else {**responses, "requestState": self.state}


def read_wishes(method: str, result: Mapping[str, Any]) -> Wishes:
    """Raises Unreadable if the request may not be answered so, or the answer asks nothing that may be asked."""
    state = result.get("requestState")
    questions = read_questions(method, result.get("inputRequests"))
    if method not in ASKING:
        raise Unreadable(f"The server answered {method} with questions, which it may not.")
    if state is not None and not isinstance(state, str):
        raise Unreadable(f"The server answered {method} with a state that is no text.")
    if state is None and not questions:
        raise Unreadable(f"The server answered {method} with questions, and asks nothing.")
    return Wishes(questions, state)


def read_questions(method: str, raw: Any) -> Questions:
    """Raises Unreadable if it holds what is no question, or one that may not be asked."""
    if raw is not None and not isinstance(raw, dict):
        raise Unreadable(f"The server answered {method} with questions that cannot be read.")
    return {key: _read_question(method, key, question) for key, question in (raw or {}).items()}


def _read_question(method: str, key: str, raw: Any) -> Request:
    match raw:
        case {"method": str(asked), **rest} if asked in CLIENT_METHODS:
            params = rest.get("params")
            return Request(key, asked, params if isinstance(params, dict) else None)
    named = raw.get("method") if isinstance(raw, dict) else raw
    raise Unreadable(f"The server answered {method} with a question that may not be asked: {named}.")


async def fulfil(questions: Questions, handle: Handle) -> dict[str, Any]:
    """The answers to all of them, asked at once.

    Raises:
        WishRefused: one was refused. The others are withdrawn.
    """
    answers: dict[str, Any] = {}
    refused: list[WishRefused] = []

    async def answer(key: str, question: Request) -> None:
        match await handle(question, {}):
            case Result(value=value):
                answers[key] = value
            case Failure(code=code, message=message, data=data):
                sentence = f"The server cannot go on: it asked for {question.method}, and that was refused: {message}"
                refused.append(WishRefused(code, sentence, data))
                tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for key, question in questions.items():
            tasks.start_soon(answer, key, question)
    if refused:
        raise refused[0]
    return answers
