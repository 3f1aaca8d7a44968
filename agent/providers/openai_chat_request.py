"""Converts a conversation to a Chat Completions request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent.chat.messages import AssistantMessage, Audio, Content, Image, Text, ToolCall, ToolMessage, UserMessage
from agent.chat.provider import Request, ToolSpec
from agent.providers import content
from agent.providers.native import Maker, native_form
from agent.providers.quirks import OpenAIQuirks
from agent.providers.schemas import normalise

MAX_STOPS = 4

Json = dict[str, Any]


def body_of(request: Request, maker: Maker, quirks: OpenAIQuirks) -> Json:
    """The request body without `stream`."""
    messages = _system(request) + _messages(request, maker, quirks)
    body: Json = {"model": maker.model, "stream_options": {"include_usage": True}, "messages": messages}
    if request.tools:
        body |= {"tools": [_tool(tool) for tool in request.tools], "tool_choice": request.tool_choice}
    if request.max_tokens is not None:
        body[quirks.max_tokens_field] = request.max_tokens
    if request.temperature is not None and quirks.temperature:
        body["temperature"] = request.temperature
    if stops := _native_stops(request, quirks):
        body["stop"] = stops
    if effort := _effort(request, quirks):
        body["reasoning_effort"] = effort
    return content.sendable(body)


def stops_left(request: Request, quirks: OpenAIQuirks) -> tuple[str, ...]:
    """The stop sequences that must be detected in the stream."""
    return () if _native_stops(request, quirks) else request.stop_sequences


def call_of(call: ToolCall, arguments: str) -> Json:
    """A tool call in an assistant message. `arguments` must be a JSON object."""
    function = {"name": content.safe_name(call.tool), "arguments": arguments}
    return {"id": content.safe_id(call.id), "type": "function", "function": function}


def _messages(request: Request, maker: Maker, quirks: OpenAIQuirks) -> list[Json]:
    messages: list[Json] = []
    for index, message in enumerate(request.messages):
        native = native_form(message, request, index, maker)
        match message:
            case UserMessage(parts):
                _add_user(messages, [_part(part, quirks) for part in parts])
            case AssistantMessage(parts) if message.text or message.tool_calls:
                messages += native.payload if native else [_said(parts)]
            case ToolMessage():
                _add_results(messages, message)
    return messages


def _part(part: Content, quirks: OpenAIQuirks) -> Json:
    if isinstance(part, Audio) and quirks.audio:
        kind = "wav" if "wav" in part.mime_type else "mp3"
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": kind}}
    return _image(part) if isinstance(part, Image) and content.is_viewable(part) else _text(content.as_text(part))


def _native_stops(request: Request, quirks: OpenAIQuirks) -> list[str]:
    """The stop sequences passed to the server: all of them or none."""
    stops = [stop for stop in request.stop_sequences if stop]
    return stops if quirks.stop and len(stops) <= MAX_STOPS else []


def _effort(request: Request, quirks: OpenAIQuirks) -> str | None:
    if request.tools and quirks.effort_with_tools:
        return quirks.effort_with_tools
    return quirks.lowest_effort if request.effort == "lowest" else None


def _system(request: Request) -> list[Json]:
    system = content.system_of(request, forced_tools=True)
    return [{"role": "system", "content": system}] if system else []


def _tool(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": normalise(tool.schema)}
    return {"type": "function", "function": function}


def _said(parts: Iterable[Text | ToolCall]) -> Json:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [call_of(part, content.arguments_json(part)) for part in parts if isinstance(part, ToolCall)]
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _add_results(messages: list[Json], message: ToolMessage) -> None:
    """Tool messages may only contain text, so images follow in a user message after all results."""
    images: list[Json] = []
    for result in message.results:
        texts = []
        for part in result.content:
            if isinstance(part, Image) and content.is_viewable(part):
                images.append(_image(part))
                texts.append(f"[image {len(images)} is in the next message]")
            else:
                texts.append(content.as_text(part))
        output = "\n".join(text for text in texts if text.strip()) or content.NO_OUTPUT
        body = f"ERROR: {output}" if result.is_error else output
        messages.append({"role": "tool", "tool_call_id": content.safe_id(result.call_id), "content": body})
    if images:
        _add_user(messages, images)


def _add_user(messages: list[Json], parts: list[Json]) -> None:
    """Merge consecutive user messages, as some servers reject them; plain text stays a string, as some require."""
    parts = [part for part in parts if part.get("text") != ""] or [_text(content.NO_TEXT)]
    if messages and messages[-1]["role"] == "user":
        said = messages.pop()["content"]
        parts = [*([_text(said)] if isinstance(said, str) else said), *parts]
    is_text = all(part["type"] == "text" for part in parts)
    messages.append({"role": "user", "content": "\n\n".join(part["text"] for part in parts) if is_text else parts})


def _image(image: Image) -> Json:
    return {"type": "image_url", "image_url": {"url": content.data_url(image)}}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
