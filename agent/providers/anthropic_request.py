"""Converts a conversation to a request of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent.chat.messages import (
    AssistantMessage,
    Content,
    Image,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.chat.provider import Request, ToolSpec
from agent.providers import content
from agent.providers.native import Maker, native_form
from agent.providers.quirks import ClaudeQuirks
from agent.providers.schemas import normalise, rename_keys

DEFAULT_MAX_TOKENS = 8192
BEGIN, GO_ON = "(The conversation begins.)", "Go on."

Json = dict[str, Any]


def body_of(request: Request, maker: Maker, quirks: ClaudeQuirks) -> Json:
    """The request body without `stream`. Sampling parameters are left out, as the API rejects them."""
    body: Json = {
        "model": maker.model,
        "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": _framed(_messages(request, maker)),
    }
    if quirks.cache:
        body["cache_control"] = {"type": "ephemeral"}
    if system := content.system_of(request, forced_tools=quirks.forced_tools):
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = {"type": _choice(request, quirks)}
    if stops := [stop for stop in request.stop_sequences if stop.strip()]:
        body["stop_sequences"] = stops
    body |= quirks.lowest if request.effort == "lowest" else quirks.thinking
    return content.sendable(body)


def stops_left(request: Request) -> list[str]:
    """The stop sequences that the API rejects, so that they must be detected in the stream."""
    return [stop for stop in request.stop_sequences if not stop.strip()]


def original_keys(tools: Iterable[ToolSpec]) -> dict[str, dict[str, str]]:
    """By tool: the argument names that were changed for the API, with the server's original names."""
    return {tool.name: originals for tool in tools if (originals := rename_keys(normalise(tool.schema))[1])}


def _choice(request: Request, quirks: ClaudeQuirks) -> str:
    if request.tool_choice == "required":
        return "any" if quirks.forced_tools else "auto"
    return request.tool_choice


def _tool(tool: ToolSpec) -> Json:
    schema, _ = rename_keys(normalise(tool.schema))
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _messages(request: Request, maker: Maker) -> list[Json]:
    """Messages with alternating roles; messages without content are left out."""
    messages: list[Json] = []
    for index, message in enumerate(request.messages):
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = list(_blocks(message, native_form(message, request, index, maker)))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    return messages


def _framed(messages: list[Json]) -> list[Json]:
    """The API requires a user message first and last; the messages of a sampling request need not have that form."""
    if not messages or messages[0]["role"] == "assistant":
        messages = [{"role": "user", "content": [_text(BEGIN)]}, *messages]
    if messages[-1]["role"] == "assistant":
        messages = [*messages, {"role": "user", "content": [_text(GO_ON)]}]
    return messages


def _blocks(message: Message, native: Opaque | None) -> Iterator[Json]:
    match message:
        case UserMessage(parts):
            yield from [_part(part) for part in parts if content.as_text(part).strip()] or [_text(content.NO_TEXT)]
        case AssistantMessage() if native:
            yield from native.payload
        case AssistantMessage(parts):
            yield from (_said(part) for part in parts if not isinstance(part, Text) or part.text.strip())
        case ToolMessage(results):
            yield from map(_result, results)


def _said(part: Text | ToolCall) -> Json:
    if isinstance(part, Text):
        return _text(part.text)
    id, name = content.safe_id(part.id), content.safe_name(part.tool)
    return {"type": "tool_use", "id": id, "name": name, "input": content.arguments_of(part)}


def _result(result: ToolResult) -> Json:
    said = [_part(part) for part in result.content if content.as_text(part).strip()] or [_text(content.NO_OUTPUT)]
    block = {"type": "tool_result", "tool_use_id": content.safe_id(result.call_id), "content": said}
    return block | ({"is_error": True} if result.is_error else {})


def _part(part: Content) -> Json:
    if isinstance(part, Image) and content.is_viewable(part):
        return {"type": "image", "source": {"type": "base64", "media_type": part.mime_type, "data": part.data}}
    return _text(content.as_text(part))


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
