"""A server's question to the client's model, and the answer, as values (section "Client Features, Sampling")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.mcp.callables import name_of
from agent.mcp.jsonrpc import INVALID_PARAMS
from agent.mcp.server.content import Message, blocks, messages, plain
from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.running import run, said
from agent.mcp.server.signature import Signature

Json = dict[str, Any]
ToolChoice = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model wants a tool run. `id` goes into the answer (`tool_answer`), `input` are the arguments."""

    id: str
    name: str
    input: Json


@dataclass(frozen=True, slots=True)
class Sample:
    """What the client's model said.

    `content` are the protocol's content blocks; `model` is the one that answered, "" if the client does not say;
    `stop_reason` is `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or a word of the client's own.
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
        """The tools the model wants run before it goes on."""
        uses = (block for block in self.content if block["type"] == "tool_use")
        return tuple(ToolUse(use["id"], use["name"], use["input"]) for use in uses)

    @property
    def message(self) -> Json:
        """The answer as a message of the conversation, to ask on from there."""
        return {"role": "assistant", "content": list(self.content)}


class SampleTools:
    """The tools of one sampling request: definitions as in `tools/list`, and functions, which are run for the model."""

    def __init__(self, tools: Sequence[Any], context: Any) -> None:
        self._context = context
        self._functions = {name_of(tool): Signature(tool, type(context)) for tool in tools if callable(tool)}
        self.definitions = [self._defined(tool) for tool in tools]

    def can_run(self, uses: Sequence[ToolUse]) -> bool:
        """Whether all of these are functions, so that the model can go on at once."""
        return bool(uses) and all(use.name in self._functions for use in uses)

    async def answers(self, uses: Sequence[ToolUse]) -> Json:
        """Run them, and answer all of them in one message, as the specification demands."""
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
        except Exception as error:  # a tool like any other: its failure is for the model to read
            return tool_answer(use, blocks(said(error)), is_error=True)
        return tool_answer(use, blocks(value))


def read_sample(answer: Any) -> Sample:
    """A client's answer. Hosts that are off the specification leave out `model`, or send bare text.

    Raises:
        ClientRefused: there is nothing in it that could be content.
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
    """The block that answers a tool use; the answers to all uses of one sample go into one user message."""
    answer = {"type": "tool_result", "toolUseId": use.id, "content": content}
    return answer | {"isError": True} if is_error else answer


def _mended(block: Any) -> Json:
    """The block in a shape that may be sent back, when the conversation goes on."""
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
