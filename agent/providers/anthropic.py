"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage
from agent.chat.provider import Finished, ProviderItem, Request, TextDelta, ThinkingDelta
from agent.providers import content
from agent.providers.anthropic_request import body_of, original_keys, stops_left
from agent.providers.errors import expect_stream, failure, translated
from agent.providers.native import Maker
from agent.providers.quirks import BINDING_BETA, claude_quirks
from agent.providers.sdk import close, drain, loaded, post, timeouts
from agent.providers.stops import StopCutter

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from agent.providers.registry import ProviderConfig

PATH = "/v1/messages"

Json = dict[str, Any]

_CUT = {
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.MAX_TOKENS,
    "stop_sequence": Stop.STOP_SEQUENCE,
    "refusal": Stop.REFUSAL,
}


class AnthropicMessages:
    """`max_tools` is None: the API documents no limit."""

    max_tools: int | None = None

    def __init__(self, config: ProviderConfig, model: str) -> None:
        self._config, self._maker = config, Maker(config.name, "messages", model)
        self._quirks = claude_quirks(model)
        self._client: AsyncAnthropic | None = None

    @property
    def name(self) -> str:
        return f"{self._maker.provider}/{self._maker.model}"

    async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        sdk = await loaded("anthropic", self._config)
        with translated(self._config, sdk, [tool.name for tool in request.tools]):
            self._client = client = self._client or _open_client(self._config)
            reply = _Reply(self._config, self._maker, request)
            body = body_of(request, self._maker, self._quirks)
            async with await post(client, sdk, PATH, body, _headers(self._config, body)) as events:
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

    async def aclose(self) -> None:
        await close(self._client)


def _open_client(config: ProviderConfig) -> AsyncAnthropic:
    """A client without retries of its own, whose base URL and API key are not taken from the environment."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=config.key,
        base_url=config.url.rstrip("/").removesuffix("/v1"),
        max_retries=0,
        timeout=timeouts(),
        default_headers=config.headers,
        open_telemetry=False,
    )


def _headers(config: ProviderConfig, body: Json) -> dict[str, str]:
    """Headers the body requires and the user's betas, as a request's beta header replaces the client's."""
    if "block_binding" not in body.get("thinking", ()):
        return {}
    wanted = [value for name, value in config.headers.items() if name.lower() == "anthropic-beta"]
    return {"anthropic-beta": ",".join([*wanted, BINDING_BETA])}


@dataclass(slots=True)
class _Block:
    """One content block: its start event and the deltas received since, by field."""

    start: Json
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Json] = field(default_factory=list)

    def add(self, field: str, piece: str) -> None:
        self.pieces.setdefault(field, []).append(piece)

    def whole(self) -> Json:
        """The block in the format the API accepts in a request; `input` of a tool call is set by the caller."""
        block = dict(self.start)
        for name, pieces in self.pieces.items():
            if name != "partial_json":
                block[name] = (block.get(name) or "") + "".join(pieces)
        if self.citations:
            block["citations"] = [*(block.get("citations") or ()), *self.citations]
        return block

    def arguments(self) -> str:
        """The arguments as the model wrote them. The SDK would repair, and so run, a truncated call."""
        given = self.start.get("input")
        return "".join(self.pieces.get("partial_json", ())) or (to_json(given).decode() if given else "")


class _Reply:
    """The state of one reply while it is streamed."""

    def __init__(self, config: ProviderConfig, maker: Maker, request: Request) -> None:
        self._config, self._maker = config, maker
        self._originals = original_keys(request.tools)
        self._ids = content.CallIds(request.messages)
        self._cutter = StopCutter(stops_left(request))
        self._answers = maker.model
        self._blocks: dict[int, _Block] = {}
        self._shown: list[str] = []
        self._counts: Json = {}
        self._ending: Json = {}
        self._has_stopped = False

    @property
    def was_cut(self) -> bool:
        return self._cutter.has_cut

    @property
    def is_over(self) -> bool:
        return self.was_cut or self._has_stopped

    def read(self, event: Json) -> Iterator[ProviderItem]:
        match event:
            case {"type": "content_block_delta", "index": index, "delta": delta} if index in self._blocks:
                yield from self._read_delta(self._blocks[index], delta)
            case {"type": "content_block_start", "index": index, "content_block": block}:
                self._blocks[index] = _Block(block)
                yield from self._show(self._cutter.feed(block.get("text") or ""))
            case {"type": "message_start", "message": message}:
                self._answers = message.get("model") or self._answers
                self._count(message)
            case {"type": "message_delta", "delta": delta}:
                self._ending |= delta
                self._count(event)
            case {"type": "message_stop"}:
                self._has_stopped = True

    def finish(self) -> Iterator[ProviderItem]:
        if self.was_cut:
            yield self._cut(Stop.STOP_SEQUENCE)
            return
        reason = self._ending.get("stop_reason")
        if reason is None:  # the SDK does not report a stream that ended early
            raise failure(self._config, "incomplete")
        yield from self._show(self._cutter.flush())
        if reason == "refusal" and not self._shown:
            yield from self._show((self._ending.get("stop_details") or {}).get("explanation") or "")
        yield self._cut(_CUT[reason]) if reason in _CUT else self._complete()

    def _read_delta(self, block: _Block, delta: Json) -> Iterator[ProviderItem]:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                block.add("text", text)
                yield from self._show(self._cutter.feed(text))
            case {"type": "thinking_delta", "thinking": str(text)}:
                block.add("thinking", text)
                yield ThinkingDelta(content.sendable(text))
            case {"type": "signature_delta", "signature": str(signature)}:
                block.add("signature", signature)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                block.add("partial_json", piece)
            case {"type": "citations_delta", "citation": citation}:
                block.citations.append(citation)

    def _show(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._shown.append(text)
            yield TextDelta(text)

    def _count(self, event: Json) -> None:
        """Later counts replace earlier ones."""
        self._counts |= {name: count for name, count in (event.get("usage") or {}).items() if count is not None}

    def _complete(self) -> Finished:
        said: list[Text | ToolCall] = []
        native: list[Json] = []
        for block in (self._blocks[index] for index in sorted(self._blocks)):
            whole = block.whole()
            if whole.get("type") == "tool_use":
                said.append(self._call(block, whole))
            elif text := whole.get("text"):
                said.append(Text(content.sendable(text)))
            if not _is_blank(whole):
                native.append(whole)
        called = any(isinstance(part, ToolCall) for part in said)
        worth = called or any(block.get("type") == "text" for block in native)  # reasoning alone is not a valid message
        return self._finished(said, Stop.TOOL_USE if called else Stop.END, tuple(native) if worth else ())

    def _call(self, block: _Block, whole: Json) -> ToolCall:
        """The call; its block is changed so that it can be sent back."""
        call = ToolCall.parse(self._ids.claim(whole.get("id")), whole.get("name") or "", block.arguments())
        whole |= {"id": call.id, "name": content.safe_name(call.tool), "input": content.arguments_of(call)}
        originals = self._originals.get(call.tool)
        if not originals or call.arguments is None:
            return call
        arguments = {originals.get(key, key): value for key, value in call.arguments.items()}
        return ToolCall(call.id, call.tool, arguments, call.raw)

    def _cut(self, stop: Stop) -> Finished:
        """A reply that was cut off keeps its text only."""
        text = "".join(self._shown)
        return self._finished((Text(text),) if text else (), stop)

    def _finished(self, said: Iterable[Text | ToolCall], stop: Stop, native: tuple[Json, ...] = ()) -> Finished:
        kept = self._maker.seal(content.sendable(native))
        return Finished(AssistantMessage(tuple(said), stop, kept), _usage(self._counts), self._answers)


def _is_blank(block: Json) -> bool:
    """The API returns blank text blocks, but rejects them in a request."""
    return block.get("type") == "text" and not (block.get("text") or "").strip()


def _usage(counts: Json) -> Usage | None:
    """The API does not include cached tokens in the input tokens."""
    if not counts:
        return None
    read, written = counts.get("cache_read_input_tokens") or 0, counts.get("cache_creation_input_tokens") or 0
    return Usage(
        input_tokens=(counts.get("input_tokens") or 0) + read + written,
        output_tokens=counts.get("output_tokens") or 0,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=(counts.get("output_tokens_details") or {}).get("thinking_tokens") or 0,
    )
