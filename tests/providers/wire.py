"""The three APIs as a test sees them: where they are, how they stream a reply, and what a good request is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from agent.chat.provider import Finished, Provider, ProviderItem, Request, TextDelta, ThinkingDelta
from agent.providers.registry import ProviderConfig, open_provider
from tests.wire_lint import lint

Json = dict[str, Any]

SSE = {"content-type": "text/event-stream"}


@dataclass(frozen=True)
class Reply:
    """A reply in nobody's format. `text` and each call's arguments arrive in pieces."""

    text: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    stop: str = "end"
    thinking: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class Api:
    """One wire format: its address, a provider that speaks it, and how it streams a `Reply`."""

    name: str
    url: str
    model: str
    config: ProviderConfig = field(repr=False)
    encode: Callable[[Reply], bytes] = field(repr=False)

    def open(self, model: str = "", **changes: Any) -> Provider:
        return open_provider(self.config, model or self.model)


def frames(events: Iterable[Json | str]) -> bytes:
    """Server-sent events, with the type of each as its name if it has one."""
    return b"".join(map(frame, events))


def frame(event: Json | str) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def chat_stream(reply: Reply) -> bytes:
    reason = {"end": "stop", "max_tokens": "length", "refusal": "content_filter", "tool_use": "tool_calls"}[reply.stop]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in reply.thinking]
    deltas += [{"content": piece} for piece in reply.text]
    deltas += [{"refusal": reply.refusal}] if reply.refusal else []
    for index, (id, name, pieces) in enumerate(reply.calls):
        head = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    chunks = [chat_chunk(delta) for delta in deltas]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4},
             "completion_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
    return frames([*chunks, chat_chunk({}, reason), {**chat_chunk({}), "choices": [], "usage": usage}, "[DONE]"])


def chat_chunk(delta: Json, reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "answers", "choices": [choice]}


def responses_stream(reply: Reply) -> bytes:
    return frames({**event, "sequence_number": number} for number, event in enumerate(_responses_events(reply)))


def _responses_events(reply: Reply) -> Iterator[Json]:
    output = list(_output(reply))
    started = {"id": "resp", "object": "response", "created_at": 1, "status": "in_progress", "model": "answers",
               "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    yield {"type": "response.created", "response": started}
    for index, item in enumerate(output):
        at = {"output_index": index, "item_id": item["id"]}
        begun = item | {key: type(item[key])() for key in ("content", "arguments", "summary") if key in item}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        if item["type"] == "reasoning":
            for piece in reply.thinking:
                yield {"type": "response.reasoning_summary_text.delta", **at, "summary_index": 0, "delta": piece}
        if item["type"] == "message":
            for piece in reply.text:
                yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece, "logprobs": []}
            if reply.refusal:
                yield {"type": "response.refusal.delta", **at, "content_index": 0, "delta": reply.refusal}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": {"cached_tokens": 4},
             "output_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
    ended = {**started, "status": "completed", "output": output, "usage": usage}
    if reply.stop in ("max_tokens", "refusal"):
        reason = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}[reply.stop]
        ended |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    yield {"type": f"response.{ended['status']}", "response": ended}


def _output(reply: Reply) -> Iterator[Json]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": "".join(reply.thinking)}]
        yield {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "c2VjcmV0"}
    parts: list[Json] = []
    if reply.text:
        parts.append({"type": "output_text", "text": "".join(reply.text), "annotations": []})
    if reply.refusal:
        parts.append({"type": "refusal", "refusal": reply.refusal})
    if parts:
        yield {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": parts}
    for index, (id, name, pieces) in enumerate(reply.calls):
        call = {"type": "function_call", "id": f"fc_{index}", "call_id": id, "name": name}
        yield {**call, "arguments": "".join(pieces), "status": "completed"}


def messages_stream(reply: Reply) -> bytes:
    return frames(_messages_events(reply))


def _messages_events(reply: Reply) -> Iterator[Json]:
    usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}
    started = {"id": "msg", "type": "message", "role": "assistant", "content": [], "model": "answers",
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    yield {"type": "message_start", "message": started}
    yield {"type": "ping"}
    for index, (block, deltas) in enumerate(_block_events(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = {"end": "end_turn"}.get(reply.stop, reply.stop)
    counted = {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": counted}
    yield {"type": "message_stop"}


def _block_events(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in reply.thinking]
        signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if text := (*reply.text, *filter(None, [reply.refusal])):
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in text]
    for id, name, pieces in reply.calls:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        yield {"type": "tool_use", "id": id, "name": name, "input": {}}, deltas


CHAT = Api(
    "chat",
    "https://models.test/v1/chat/completions",
    "some-model",
    ProviderConfig("local", "openai", base_url="https://models.test/v1"),
    chat_stream,
)
RESPONSES = Api(
    "responses",
    "https://api.openai.com/v1/responses",
    "gpt-6.1-terra",
    ProviderConfig("openai", "openai", api_key="sk-secret"),
    responses_stream,
)
MESSAGES = Api(
    "messages",
    "https://api.anthropic.com/v1/messages",
    "claude-sonnet-5-5",
    ProviderConfig("anthropic", "anthropic", api_key="sk-secret"),
    messages_stream,
)
APIS = (CHAT, RESPONSES, MESSAGES)


def faults_of(url: str, body: Json) -> list[str]:
    """What the API at this address would refuse. A body its SDK's types refuse raises."""
    name = next(api.name for api in APIS if url.endswith(api.url.rsplit("/v1", 1)[1]))
    _consumed(_params(name).validate_python(body))
    return lint(name, body)


@cache
def _params(api: str) -> TypeAdapter[Any]:
    if api == "chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as Params
    elif api == "responses":
        from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as Params
    else:
        from anthropic.types.message_create_params import MessageCreateParamsStreaming as Params
    return TypeAdapter(Params)


def _consumed(value: Any) -> Any:
    """pydantic validates an `Iterable` only while it is read."""
    if isinstance(value, dict):
        return {key: _consumed(member) for key, member in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [_consumed(member) for member in value]


async def heard(provider: Provider, request: Request) -> list[ProviderItem]:
    async with aclosing(provider.stream(request)) as items:
        return [item async for item in items]


def finished(items: list[ProviderItem]) -> Finished:
    """The end of a stream, after checking that it is the only one and that the text is what was streamed."""
    *deltas, end = items
    assert isinstance(end, Finished)
    assert all(isinstance(delta, TextDelta | ThinkingDelta) and delta.text for delta in deltas)
    assert end.message.text == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return end
