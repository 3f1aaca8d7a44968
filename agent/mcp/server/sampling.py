"""Sampling requests and their results (section "Client Features, Sampling")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.mcp.callables import name_of
from agent.mcp.jsonrpc import INVALID_PARAMS
from agent.mcp.server.content import Message, blocks, messages, plain
from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.running import message_of, run
from agent.mcp.server.signature import Signature

Json = dict[str, Any]
ToolChoice = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of the model. `id` goes into the answer (`tool_answer`), `input` are the arguments."""

    id: str
    name: str
    input: Json


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of a sampling request.

    `content` are the protocol's content blocks; `model` is the model that answered, "" if the client does not name
    it; `stop_reason` is `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or a value of the client's own.
    """

    content: tuple[Json, ...]
    model: str
    stop_reason: str | None

    @property
    def text(self) -> str:
        """All text of the answer."""
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tool calls of the model."""
        uses = (block for block in self.content if block["type"] == "tool_use")
        return tuple(ToolUse(use["id"], use["name"], use["input"]) for use in uses)

    @property
    def message(self) -> Json:
        """The answer as a message, to continue the conversation."""
        return {"role": "assistant", "content": list(self.content)}


class SampleTools:
    """The tools of one sampling request: definitions as in `tools/list`, and functions to call for the model."""

    def __init__(self, tools: Sequence[Any], context: Any) -> None:
        self._context = context
        self._functions = {name_of(tool): Signature(tool, type(context)) for tool in tools if callable(tool)}
        self.definitions = [self._defined(tool) for tool in tools]

    def can_run(self, uses: Sequence[ToolUse]) -> bool:
        """Whether all of these are functions, which can be called here."""
        return bool(uses) and all(use.name in self._functions for use in uses)

    async def answers(self, uses: Sequence[ToolUse]) -> Json:
        """Call them all; the answers are one message, as the specification demands."""
        return {"role": "user", "content": [await self._answer(use) for use in uses]}

    def _defined(self, tool: Any) -> Json:
        if not callable(tool):
            return dict(plain(tool))
        signature = self._functions[name_of(tool)]
        described = {"description": signature.description} if signature.description else {}
        return {"name": signature.name, **described, "inputSchema": signature.schema}

    async def _answer(self, use: ToolUse) -> Json:
        try:
            value = await run(self._functions[use.name], use.input, self._context)
        except Exception as error:  # the function may raise anything; the text goes to the model
            return tool_answer(use, blocks(message_of(error)), is_error=True)
        return tool_answer(use, blocks(value))


def read_sample(answer: Any) -> Sample:
    """The client's result. Tolerates a missing `model`, and bare text as content.

    Raises:
        ClientRefused: it has no valid content.
    """
    found = _object(answer)
    given = found.get("content")
    listed: list[Any] = given if isinstance(given, list) else [given]
    content = tuple(map(_mended, listed))
    reason = found.get("stopReason")
    return Sample(content, str(found.get("model") or ""), reason if isinstance(reason, str) else None)


def sampling_params(
    conversation: Message | list[Message],
    max_tokens: int,
    options: Mapping[str, Any],
    tools: Sequence[Json],
    tool_choice: str | None,
) -> Json:
    """The params of `sampling/createMessage`; options that are None are left out."""
    given = messages(conversation, listed=True)
    offered: Json = {"tools": tools} if tools else {}
    choice: Json = {} if tool_choice is None else {"toolChoice": {"mode": tool_choice}}
    shown = {key: plain(value) for key, value in options.items() if value is not None}
    return {"messages": given, "maxTokens": max_tokens} | shown | offered | choice


def tool_answer(use: ToolUse, content: list[Json], *, is_error: bool = False) -> Json:
    """A `tool_result` block; the answers to all uses of one sample belong in one user message."""
    answer = {"type": "tool_result", "toolUseId": use.id, "content": content}
    return answer | {"isError": True} if is_error else answer


def _mended(block: Any) -> Json:
    """The block in a form that is valid when the conversation is continued."""
    match block:
        case str():
            return {"type": "text", "text": block}
        case {"type": "tool_use", "id": str(), "name": str(), **rest}:
            return {**block, "input": _object(rest.get("input"))}
        case {"type": "text", "text": str()}:
            return {**block}
        case {"type": str(kind)} if kind not in ("text", "tool_use"):
            return {**block}
    raise ClientRefused(INVALID_PARAMS, "The client answered the sampling request with something that is no message.")


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
