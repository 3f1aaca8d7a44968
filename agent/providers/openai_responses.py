"""OpenAI's Responses API, stateless: each request has the whole conversation, with the model's own items verbatim."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage
from agent.chat.provider import Finished, ProviderItem, Request, TextDelta, ThinkingDelta
from agent.providers import content
from agent.providers.errors import expect_stream, failure, refusal, translated
from agent.providers.native import Maker
from agent.providers.openai_client import open_client
from agent.providers.openai_responses_request import body_of
from agent.providers.quirks import openai_quirks
from agent.providers.sdk import Events, close, drain, loaded, post
from agent.providers.stops import StopCutter

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from agent.providers.registry import ProviderConfig

PATH = "/responses"
MAX_TOOLS = 128

Json = dict[str, Any]


class OpenAIResponses:
    """`max_tools`: tools beyond this number are not sent."""

    max_tools: int | None = MAX_TOOLS

    def __init__(self, config: ProviderConfig, model: str) -> None:
        self._config, self._maker = config, Maker(config.name, "responses", model)
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
            reply = _Reply(self._config, self._maker, request)
            async with await self._ask(sdk, client, request) as events:
                expect_stream(self._config, events.response)
                async for event in events:
                    for item in reply.read(event):
                        yield item
                    if reply.is_over:
                        break
                if not reply.was_cut:
                    await drain(events)
            for item in reply.finish():
                yield item

    async def _ask(self, sdk: ModuleType, client: AsyncOpenAI, request: Request) -> Events:
        try:
            return await post(client, sdk, PATH, body_of(request, self._maker, self._quirks))
        except sdk.BadRequestError as error:
            if error.param != "reasoning.summary":
                raise
        # Accounts that OpenAI has not verified may use the model, but not request reasoning summaries.
        self._quirks = replace(self._quirks, summaries=False)
        return await post(client, sdk, PATH, body_of(request, self._maker, self._quirks))

    async def aclose(self) -> None:
        await close(self._client)


class _Reply:
    """The state of one reply while it is streamed."""

    def __init__(self, config: ProviderConfig, maker: Maker, request: Request) -> None:
        self._config, self._maker = config, maker
        self._tools = [tool.name for tool in request.tools]
        self._ids = content.CallIds(request.messages)
        self._cutter = StopCutter(request.stop_sequences)
        self._shown: list[str] = []
        self._speaker: int | None = None
        self._items: list[Json] = []
        self._response: Json = {}
        self._ending = ""

    @property
    def was_cut(self) -> bool:
        return self._cutter.has_cut

    @property
    def is_over(self) -> bool:
        return self.was_cut or bool(self._ending)

    def read(self, event: Json) -> Iterator[ProviderItem]:
        match event:
            case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": str(delta)}:
                yield from self._show(self._cutter.feed(self._gap(event.get("output_index")) + delta))
            case {
                "type": "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                "delta": str(delta),
            }:
                yield ThinkingDelta(content.sendable(delta))
            case {"type": "response.reasoning_summary_part.added", "summary_index": int(index)} if index > 0:
                yield ThinkingDelta("\n\n")
            case {"type": "response.output_item.done", "item": item}:
                self._items.append(item)
            case {"type": "response.created", "response": response}:
                self._response = response
            case {"type": "response.completed" | "response.incomplete" | "response.failed", "response": response}:
                self._response, self._ending = response, event["type"]
            case {"type": "error"}:
                raise refusal(self._config, event, self._tools)

    def finish(self) -> Iterator[ProviderItem]:
        if self.was_cut:
            yield self._finished(Stop.STOP_SEQUENCE)
            return
        yield from self._show(self._cutter.flush())
        match self._ending:
            case "response.completed":
                yield from self._complete()
            case "response.incomplete":
                why = (self._response.get("incomplete_details") or {}).get("reason")
                yield self._finished(Stop.REFUSAL if why == "content_filter" else Stop.MAX_TOKENS)
            case "response.failed":
                raise refusal(self._config, self._response.get("error") or {}, self._tools)
            case _:
                raise failure(self._config, "incomplete")

    def _gap(self, speaker: int | None) -> str:
        """A separator between texts of different messages (such as commentary and final answer) of one reply."""
        is_next, self._speaker = self._speaker not in (None, speaker), speaker
        return "\n\n" if is_next else ""

    def _show(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._shown.append(text)
            yield TextDelta(text)

    def _complete(self) -> Iterator[ProviderItem]:
        items = self._response.get("output") or self._items
        if not self._shown:  # some servers send a short text without deltas
            yield from self._show(content.sendable("\n\n".join(filter(None, map(_text_of, items)))))
        calls = [self._call(item) for item in items if item.get("type") == "function_call"]
        refused = any(part.get("type") == "refusal" for item in items for part in _parts(item))
        native = tuple(content.sendable(item) for item in items if _can_be_replayed(item))
        if calls:
            yield self._finished(Stop.TOOL_USE, calls, native)
        else:
            yield self._finished(Stop.REFUSAL) if refused else self._finished(Stop.END, (), native)

    def _call(self, item: Json) -> ToolCall:
        """The call; its item is changed so that it can be sent back."""
        raw = item.get("arguments") or ""
        call = ToolCall.parse(self._ids.claim(item.get("call_id")), item.get("name") or "", raw)
        item |= {"call_id": call.id, "name": content.safe_name(call.tool)}
        if not call.arguments:
            item["arguments"] = "{}"
        return call

    def _finished(self, stop: Stop, calls: Iterable[ToolCall] = (), native: tuple[Json, ...] = ()) -> Finished:
        text = "".join(self._shown)
        said = (Text(text),) if text else ()
        message = AssistantMessage((*said, *calls), stop, self._maker.seal(native))
        return Finished(message, _usage(self._response.get("usage")), self._response.get("model") or self._maker.model)


def _parts(item: Json) -> list[Json]:
    return item.get("content") or [] if item.get("type") == "message" else []


def _text_of(item: Json) -> str:
    return "".join(part.get("text") or part.get("refusal") or "" for part in _parts(item))


def _can_be_replayed(item: Json) -> bool:
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _usage(counts: Json | None) -> Usage | None:
    if not counts:
        return None
    read, written = counts.get("input_tokens_details") or {}, counts.get("output_tokens_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cached_tokens=read.get("cached_tokens") or 0,
        cache_write_tokens=read.get("cache_write_tokens") or 0,
        reasoning_tokens=written.get("reasoning_tokens") or 0,
    )
