"""Converts a conversation to a request of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent.chat.messages import AssistantMessage, Content, Image, Text, ToolCall, ToolMessage, ToolResult, UserMessage
from agent.chat.provider import Request, ToolSpec
from agent.providers import content
from agent.providers.native import Maker, native_form
from agent.providers.quirks import OpenAIQuirks
from agent.providers.schemas import normalise

LEAST_TOKENS = 16  # the API rejects lower values

Json = dict[str, Any]


def body_of(request: Request, maker: Maker, quirks: OpenAIQuirks) -> Json:
    """The request body without `stream`. The API has no stop sequences."""
    body: Json = {"model": maker.model, "store": False, "input": _input(request, maker)}
    if system := content.system_of(request, forced_tools=True):
        body["instructions"] = system
    if request.tools:
        body |= {"tools": [_tool(tool) for tool in request.tools], "tool_choice": request.tool_choice}
    if request.max_tokens is not None:
        body["max_output_tokens"] = max(LEAST_TOKENS, request.max_tokens)
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    return content.sendable(body | _reasoning(quirks, request))


def _input(request: Request, maker: Maker) -> list[Json]:
    items: list[Json] = []
    for index, message in enumerate(request.messages):
        native = native_form(message, request, index, maker)
        match message:
            case UserMessage(parts):
                _add_user(items, [_part(part) for part in parts if part != Text("")])
            case AssistantMessage(parts):
                items += native.payload if native else _said(parts)
            case ToolMessage(results):
                items += map(_result, results)
    return items


def _reasoning(quirks: OpenAIQuirks, request: Request) -> Json:
    if not quirks.reasoning:
        return {}
    # Without storage at OpenAI, reasoning must be sent back in the encrypted form that comes with each item.
    kept: Json = {"include": ["reasoning.encrypted_content"]}
    if request.effort == "lowest":
        return kept | {"reasoning": {"effort": quirks.lowest_effort}}
    return kept | ({"reasoning": {"summary": "auto"}} if quirks.summaries else {})


def _tool(tool: ToolSpec) -> Json:
    schema = normalise(tool.schema)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": schema,
        "strict": False,  # the default is to try strict mode, which most schemas do not meet
    }


def _add_user(items: list[Json], parts: list[Json]) -> None:
    """Merge consecutive user messages, as some servers reject them."""
    parts = parts or [_text(content.NO_TEXT)]
    if items and items[-1].get("role") == "user":
        items[-1] = {"role": "user", "content": [*items[-1]["content"], *parts]}
    else:
        items.append({"role": "user", "content": parts})


def _said(parts: Iterable[Text | ToolCall]) -> Iterator[Json]:
    for part in parts:
        match part:
            case Text(text) if text:
                yield {"role": "assistant", "content": text}
            case ToolCall(id, tool):
                yield {
                    "type": "function_call",
                    "call_id": content.safe_id(id),
                    "name": content.safe_name(tool),
                    "arguments": content.arguments_json(part),
                }


def _result(result: ToolResult) -> Json:
    output: str | list[Json] = content.joined(result.content) or content.NO_OUTPUT
    if any(content.is_viewable(part) for part in result.content):
        output = [_part(part) for part in result.content]
        if result.is_error:
            output.insert(0, _text("ERROR:"))
    elif result.is_error:
        output = f"ERROR: {output}"
    return {"type": "function_call_output", "call_id": content.safe_id(result.call_id), "output": output}


def _part(part: Content) -> Json:
    if isinstance(part, Image) and content.is_viewable(part):
        return {"type": "input_image", "detail": "auto", "image_url": content.data_url(part)}
    return _text(content.as_text(part))


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}
