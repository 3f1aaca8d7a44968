"""The result type `input_required`: a request needs input (section "Multi Round-Trip Requests", 2026-07-28).

Instead of sending requests while ours is pending, the server responds with `input_required`. We answer all of its input
requests and send our request again. `requestState` belongs to the server: it is returned unchanged, with that one
request, and is never interpreted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import Failure, Params, Request, Result
from agent.mcp.lifecycle import CLIENT_METHODS
from agent.mcp.protocol import ASKING

Handle = Callable[[Request, Mapping[str, Any]], Awaitable[Result | Failure]]
InputRequests = Mapping[str, Request]
"""By the server's key; the id of each request is that key."""


class InputRefused(McpError):
    """An input request was refused by this client, so the call was abandoned. The error is not the server's."""


@dataclass(frozen=True, slots=True)
class InputRequired:
    """A result of type `input_required`; `state` is its `requestState`."""

    requests: InputRequests
    state: str | None

    def answered(self, answers: Mapping[str, Any]) -> Params:
        """The params to add to the request when it is sent again."""
        responses = {"inputResponses": dict(answers)} if self.requests else {}
        return responses if self.state is None else {**responses, "requestState": self.state}


def read_input_required(method: str, result: Mapping[str, Any]) -> InputRequired:
    """Raises Unreadable if `method` may not have such a result, or it has neither input requests nor a state."""
    state = result.get("requestState")
    requests = read_input_requests(method, result.get("inputRequests"))
    if method not in ASKING:
        raise Unreadable(f"The server answered {method} with questions, which it may not.")
    if state is not None and not isinstance(state, str):
        raise Unreadable(f"The server answered {method} with a state that is no text.")
    if state is None and not requests:
        raise Unreadable(f"The server answered {method} with questions, and asks nothing.")
    return InputRequired(requests, state)


def read_input_requests(method: str, raw: Any) -> InputRequests:
    """Raises Unreadable if one of them is malformed, or of a method that a server may not request."""
    if raw is not None and not isinstance(raw, dict):
        raise Unreadable(f"The server answered {method} with questions that cannot be read.")
    return {key: _read_input_request(method, key, request) for key, request in (raw or {}).items()}


def _read_input_request(method: str, key: str, raw: Any) -> Request:
    match raw:
        case {"method": str(asked), **rest} if asked in CLIENT_METHODS:
            params = rest.get("params")
            return Request(key, asked, params if isinstance(params, dict) else None)
    named = raw.get("method") if isinstance(raw, dict) else raw
    raise Unreadable(f"The server answered {method} with a question that may not be asked: {named}.")


async def answer_all(requests: InputRequests, handle: Handle) -> dict[str, Any]:
    """The answers to all of them, obtained concurrently.

    Raises:
        InputRefused: one was refused. The others are cancelled.
    """
    answers: dict[str, Any] = {}
    refused: list[InputRefused] = []

    async def answer(key: str, request: Request) -> None:
        match await handle(request, {}):
            case Result(value=value):
                answers[key] = value
            case Failure(code=code, message=message, data=data):
                sentence = f"The server cannot go on: it asked for {request.method}, and that was refused: {message}"
                refused.append(InputRefused(code, sentence, data))
                tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for key, request in requests.items():
            tasks.start_soon(answer, key, request)
    if refused:
        raise refused[0]
    return answers
