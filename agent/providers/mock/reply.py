"""A reply of the mock, and the limits that a request sets for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic_core import to_json

from agent.chat.messages import (
    AssistantMessage,
    Content,
    Message,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from agent.chat.provider import ProviderError, Request

PIECE = 12
"""Size of one streamed piece, in characters."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`wait` is in seconds, spread over the whole reply. With `failure` the stream fails at its end."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    wait: float = 0
    failure: ProviderError | None = None
    stop: Stop = Stop.END

    @property
    def pieces(self) -> list[str]:
        return [self.text[start : start + PIECE] for start in range(0, len(self.text), PIECE)]

    @property
    def message(self) -> AssistantMessage:
        text = (Text(self.text),) if self.text else ()
        return AssistantMessage((*text, *self.calls), Stop.TOOL_USE if self.calls else self.stop)


def limit(reply: Reply, request: Request) -> Reply:
    """The reply truncated at the request's stop sequences and token limit; a word counts as a token."""
    cuts = [reply.text.find(sequence) for sequence in request.stop_sequences if sequence]
    if found := [cut for cut in cuts if cut >= 0]:
        reply = replace(reply, text=reply.text[: min(found)], calls=(), stop=Stop.STOP_SEQUENCE)
    if request.max_tokens is None or _words(reply.message) <= request.max_tokens:
        return reply
    kept = " ".join(reply.text.split()[: request.max_tokens])
    return replace(reply, text=kept, calls=(), stop=Stop.MAX_TOKENS)


def number_calls(request: Request, wanted: Iterable[tuple[str, str]]) -> tuple[ToolCall, ...]:
    """Calls from pairs of tool name and raw arguments, with ids that are unique in this conversation."""
    before = sum(len(said.tool_calls) for said in request.messages if isinstance(said, AssistantMessage))
    return tuple(ToolCall.parse(f"mock_{before + n}", tool, raw) for n, (tool, raw) in enumerate(wanted, start=1))


def write_arguments(arguments: object) -> str:
    return to_json(arguments, inf_nan_mode="null").decode()


def count(request: Request, reply: Reply) -> Usage:
    """Usage with words counted as tokens."""
    heard = len(request.system.split()) + sum(_words(message) for message in request.messages)
    return Usage(input_tokens=heard, output_tokens=_words(reply.message))


def last_user_text(request: Request) -> str:
    said = (message for message in reversed(request.messages) if isinstance(message, UserMessage))
    text = next((plain_text(message.content) for message in said), "")
    return text.encode(errors="replace").decode()  # invalid bytes on stdin are lone surrogates: not valid JSON


def plain_text(content: Sequence[Content]) -> str:
    """Text unchanged, a placeholder for any other content."""
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.mime_type}]" for part in content)


def _words(message: Message) -> int:
    match message:
        case UserMessage(content):
            return len(plain_text(content).split())
        case ToolMessage(results):
            return sum(len(plain_text(result.content).split()) for result in results)
        case AssistantMessage():
            return len(message.text.split()) + sum(len(call.raw.split()) for call in message.tool_calls)
