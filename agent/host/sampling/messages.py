"""Converts sampling requests to model requests, and the model's replies to results for the server.

Tools in such a request belong to the server: the model's calls are returned to it and never run here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types
from pydantic import ValidationError

from agent.chat.messages import (
    AssistantMessage,
    Message,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.chat.provider import Finished, Request, ToolSpec
from agent.host.content import content_of, text_of
from agent.host.sampling.models import Preferences
from agent.host.tool_names import accepted_name
from agent.mcp.errors import McpError

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

STOP_REASONS = {
    Stop.END: "endTurn",
    Stop.MAX_TOKENS: "maxTokens",
    Stop.STOP_SEQUENCE: "stopSequence",
    Stop.TOOL_USE: "toolUse",
}

MISSING = "Tool result missing in request"
MIXED = "Tool results mixed with other content"
"""The error messages of the specification (section "Sampling, Error Handling")."""

_KINDS = ("text", "image", "audio", "tool_use", "tool_result")
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Sample:
    """A sampling request. `names` maps the tool names that the model sees to the server's own."""

    request: Request
    preferences: Preferences = field(default_factory=Preferences)
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    context: Literal["none", "thisServer", "allServers"] = "none"


def read_sample(params: Mapping[str, Any], max_tokens: int) -> Sample:
    """Parse the params of `sampling/createMessage`; the reply gets at most `max_tokens` tokens.

    Raises:
        McpError: -32602 if they are invalid, for example if tool calls and results do not match.
    """
    asked = _validated(params)
    tools = asked.tools or ()
    choice = (asked.tool_choice.mode if asked.tool_choice else None) or "auto"
    if choice == "required" and not tools:
        raise McpError(INVALID_PARAMS, "toolChoice is required, and there are no tools")
    if twice := [name for name, count in Counter(tool.name for tool in tools).items() if count > 1]:
        raise McpError(INVALID_PARAMS, f"Invalid sampling request: two tools have the name {twice[0]!r}")
    request = Request(
        messages=tuple(_messages(asked.messages)),
        system=asked.system_prompt or "",
        tools=tuple(ToolSpec(accepted_name(tool.name), tool.description or "", tool.input_schema) for tool in tools),
        max_tokens=min(asked.max_tokens, max_tokens),
        temperature=asked.temperature,
        stop_sequences=tuple(asked.stop_sequences or ()),
        tool_choice=choice,
        effort="lowest",
    )
    names = {accepted_name(tool.name): tool.name for tool in tools}
    return Sample(request, _preferences(asked.model_preferences), names, asked.include_context or "none")


def _validated(params: Mapping[str, Any]) -> types.CreateMessageRequestParams:
    for place, kind in _kinds(params.get("messages")):
        if kind not in _KINDS:
            allowed = f"{', '.join(_KINDS[:-1])} and {_KINDS[-1]}"
            said = f"{place} is content of type {kind!r}, and sampling takes {allowed}"
            raise McpError(INVALID_PARAMS, f"Invalid sampling request: {said}")
    try:
        asked = types.CreateMessageRequestParams.model_validate(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise McpError(INVALID_PARAMS, f"Invalid sampling request: {place}: {first['msg']}") from error
    if not asked.messages:
        raise McpError(INVALID_PARAMS, "Invalid sampling request: there are no messages")
    if asked.max_tokens < 1:
        raise McpError(INVALID_PARAMS, "Invalid sampling request: maxTokens must be at least 1")
    return asked


def _kinds(messages: Any) -> Iterator[tuple[str, str]]:
    """The position and the declared type of each content block; a block without one is left to validation."""
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, dict) and isinstance(kind := block.get("type"), str):
                yield f"messages.{number}", kind


def _preferences(asked: types.ModelPreferences | None) -> Preferences:
    if asked is None:
        return Preferences()
    return Preferences(
        tuple(hint.name for hint in asked.hints or () if hint.name),
        asked.cost_priority or 0.0,
        asked.speed_priority or 0.0,
        asked.intelligence_priority or 0.0,
    )


def _messages(asked: Sequence[types.SamplingMessage]) -> Iterable[Message]:
    """Convert the messages. All results of tool calls must be in the next message ("Sampling, Message Content")."""
    owed: list[str] = []
    for message in asked:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        results = [block for block in blocks if isinstance(block, types.ToolResultContent)]
        uses = [block.id for block in blocks if isinstance(block, types.ToolUseContent)]
        _check(message.role, len(blocks), [result.tool_use_id for result in results], uses, owed)
        _check_data([*blocks, *(part for result in results for part in result.content)])
        if results:
            yield ToolMessage(tuple(_result(found) for id in owed for found in results if found.tool_use_id == id))
        elif message.role == "user":
            yield UserMessage(tuple(content_of(block) for block in blocks))
        else:
            yield AssistantMessage(tuple(_said(block) for block in blocks))
        owed = uses
    if owed:
        raise McpError(INVALID_PARAMS, MISSING)


def _check(role: str, blocks: int, results: list[str], uses: list[str], owed: list[str]) -> None:
    if results and (role != "user" or len(results) < blocks):
        raise McpError(INVALID_PARAMS, MIXED)
    if set(owed) - set(results):
        raise McpError(INVALID_PARAMS, MISSING)
    if sorted(results) != sorted(owed):
        raise McpError(INVALID_PARAMS, "Tool result without a tool use")
    if uses and role != "assistant":
        raise McpError(INVALID_PARAMS, "Tool use in a message of the user")
    if len(set(uses)) < len(uses):
        raise McpError(INVALID_PARAMS, "Two tool uses with one id")


def _check_data(blocks: Iterable[Any]) -> None:
    for block in blocks:
        if isinstance(block, types.ImageContent | types.AudioContent) and not _is_base64(block.data):
            raise McpError(INVALID_PARAMS, f"Invalid sampling request: the data of the {block.type} is not base64")


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode("".join(data.split()), validate=True))
    except (binascii.Error, ValueError):
        return False


def _said(block: Any) -> Text | ToolCall:
    if isinstance(block, types.ToolUseContent):
        return ToolCall(_call_id(block.id), accepted_name(block.name), block.input, json.dumps(block.input))
    return Text(text_of([content_of(block)]))


def _result(block: types.ToolResultContent) -> ToolResult:
    content = [content_of(part) for part in block.content]
    if not content and block.structured_content is not None:
        content = [Text(json.dumps(block.structured_content, ensure_ascii=False))]
    return ToolResult(_call_id(block.tool_use_id), tuple(content), bool(block.is_error))


def _call_id(id: str) -> str:
    """The server's id, if every model accepts it; else a valid one."""
    return id if _ACCEPTED_ID.fullmatch(id) else accepted_name(id)


def write_result(sample: Sample, finished: Finished) -> dict[str, Any]:
    """The result of `sampling/createMessage`.

    Raises:
        McpError: -32603 if the model called a tool with arguments that are no JSON object.
    """
    reply = finished.message
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text or not reply.tool_calls else []
    for call in reply.tool_calls:
        if call.arguments is None:
            raise McpError(INTERNAL_ERROR, f"The model called {call.tool} with arguments that are no JSON object")
        name = sample.names.get(call.tool, call.tool)
        blocks.append({"type": "tool_use", "id": call.id, "name": name, "input": call.arguments})
    return {
        "role": "assistant",
        "content": blocks if reply.tool_calls else blocks[0],
        "model": finished.model,
        "stopReason": STOP_REASONS.get(reply.stop, str(reply.stop)),
    }
