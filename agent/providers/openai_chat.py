"""OpenAI's Chat Completions API, also for compatible servers, which differ in details."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage
from agent.chat.provider import Finished, ProviderItem, Request, TextDelta, ThinkingDelta
from agent.providers import content
from agent.providers.errors import expect_stream, failure, translated
from agent.providers.native import Maker
from agent.providers.openai_chat_request import body_of, call_of, stops_left
from agent.providers.openai_client import open_client
from agent.providers.quirks import OpenAIQuirks, openai_quirks
from agent.providers.sdk import close, loaded, post
from agent.providers.stops import StopCutter
from agent.providers.tool_deltas import ToolDeltas

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from agent.providers.registry import ProviderConfig

PATH = "/chat/completions"
MAX_TOOLS = 128

Json = dict[str, Any]


class OpenAIChat:
    """`max_tools`: tools beyond this number are not sent."""

    max_tools: int | None = MAX_TOOLS

    def __init__(self, config: ProviderConfig, model: str) -> None:
        self._config, self._maker = config, Maker(config.name, "chat", model)
        self._quirks = openai_quirks(model, config.host)
        self._client: AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        return f"{self._maker.provider}/{self._maker.model}"

    async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        sdk = await loaded("openai", self._config)
        request = replace(request, tools=request.tools[:MAX_TOOLS])
        with translated(self._config, sdk, [tool.name for tool in request.tools]):
            self._client = client = self._client or open_client(self._config)
            reply = _Reply(self._config, self._maker, request, self._quirks)
            body = body_of(request, self._maker, self._quirks)
            async with await post(client, sdk, PATH, body) as chunks:
                expect_stream(self._config, chunks.response)
                async for chunk in chunks:
                    for item in reply.read(chunk):
                        yield item
                    if reply.was_cut:
                        break
            for item in reply.finish():
                yield item

    async def aclose(self) -> None:
        await close(self._client)


class _Reply:
    """The state of one reply while it is streamed."""

    def __init__(self, config: ProviderConfig, maker: Maker, request: Request, quirks: OpenAIQuirks) -> None:
        self._config, self._maker, self._quirks = config, maker, quirks
        self._ids = content.CallIds(request.messages)
        self._cutter = StopCutter(stops_left(request, quirks))
        self._answers = maker.model
        self._text: list[str] = []
        self._thought: list[str] = []
        self._details: list[Json] = []
        self._calls = ToolDeltas()
        self._refused = False
        self._reason: str | None = None
        self._usage: Usage | None = None

    @property
    def was_cut(self) -> bool:
        return self._cutter.has_cut

    def read(self, chunk: Json) -> Iterator[ProviderItem]:
        self._answers = chunk.get("model") or self._answers
        self._usage = _usage(chunk.get("usage")) or self._usage
        for choice in chunk.get("choices") or ():
            yield from self._read_delta(choice.get("delta") or {})
            self._reason = choice.get("finish_reason") or self._reason

    def finish(self) -> Iterator[ProviderItem]:
        if self.was_cut:
            yield self._finished(Stop.STOP_SEQUENCE)
            return
        if self._reason is None:  # the SDK does not report a stream that ended early
            raise failure(self._config, "incomplete")
        yield from self._show(self._cutter.flush())
        match self._reason:
            case "length":
                yield self._finished(Stop.MAX_TOKENS)
            case "content_filter":
                yield self._finished(Stop.REFUSAL)
            case "error":
                raise failure(self._config, "server")
            case _:
                yield self._complete()

    def _read_delta(self, delta: Json) -> Iterator[ProviderItem]:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            self._thought.append(thought)
            yield ThinkingDelta(content.sendable(thought))
        self._details += delta.get("reasoning_details") or ()
        self._calls.feed(delta.get("tool_calls") or ())
        refusal = delta.get("refusal") or ""
        self._refused = self._refused or bool(refusal)
        yield from self._show(self._cutter.feed(_spoken(delta.get("content")) + refusal))

    def _show(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._text.append(text)
            yield TextDelta(text)

    def _complete(self) -> Finished:
        calls = self._calls.calls(self._ids)
        if not calls and self._refused:
            return self._finished(Stop.REFUSAL)
        native = self._native([call_of(call, call.raw if call.arguments else "{}") | extra for call, extra in calls])
        stop = Stop.TOOL_USE if calls else Stop.END  # many servers report "stop" for a reply with tool calls
        return self._finished(stop, [call for call, _ in calls], native)

    def _native(self, calls: list[Json]) -> tuple[Json, ...]:
        message: Json = {"role": "assistant", "content": "".join(self._text) or None}
        if calls:
            message["tool_calls"] = calls
        if self._details:
            message["reasoning_details"] = self._details
        if self._thought and self._quirks.echo_reasoning:
            message["reasoning_content"] = "".join(self._thought)
        return (content.sendable(message),) if calls or self._text else ()

    def _finished(self, stop: Stop, calls: Iterable[ToolCall] = (), native: tuple[Json, ...] = ()) -> Finished:
        text = "".join(self._text)
        said = (Text(text),) if text else ()
        return Finished(AssistantMessage((*said, *calls), stop, self._maker.seal(native)), self._usage, self._answers)


def _spoken(words: object) -> str:
    """The text of a delta; a few servers send it as a list of parts."""
    if isinstance(words, list):
        return "".join(part.get("text") or "" for part in words if isinstance(part, dict))
    return words if isinstance(words, str) else ""


def _usage(counts: Json | None) -> Usage | None:
    if not counts:
        return None
    read, written = counts.get("prompt_tokens_details") or {}, counts.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=counts.get("prompt_tokens") or 0,
        output_tokens=counts.get("completion_tokens") or 0,
        cached_tokens=read.get("cached_tokens") or 0,
        cache_write_tokens=read.get("cache_write_tokens") or 0,
        reasoning_tokens=written.get("reasoning_tokens") or 0,
    )
