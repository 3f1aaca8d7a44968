"""The messages of a conversation: immutable values, compared by content."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic_core import from_json


class Stop(StrEnum):
    """Why a reply or a turn ended. `TOOL_USE` and `STOP_SEQUENCE` end replies only, never a turn."""

    END = "end"
    TOOL_USE = "tool_use"
    STOP_SEQUENCE = "stop_sequence"
    REFUSAL = "refusal"
    MAX_TOKENS = "max_tokens"
    MAX_TURNS = "max_turns"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    SCHEMA = "schema"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """`data` is base64, as received."""

    data: str = field(repr=False)
    mime_type: str


@dataclass(frozen=True, slots=True)
class Audio:
    """`data` is base64, as received."""

    data: str = field(repr=False)
    mime_type: str


Content = Text | Image | Audio


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by the model. `tool` is the name that the model was shown.

    `raw` holds the arguments as written. If they are no JSON object, `arguments` is None and the call is never run.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | None = field(hash=False)
    raw: str = ""

    @classmethod
    def parse(cls, id: str, tool: str, raw: str) -> ToolCall:
        """Build a call from the raw arguments; an empty string and `null` mean no arguments."""
        if raw.strip() in ("", "null"):
            return cls(id, tool, {}, raw)
        try:
            arguments = from_json(raw, allow_inf_nan=False)
        except (ValueError, TypeError):  # TypeError: a lone surrogate, which some servers send
            arguments = None
        return cls(id, tool, arguments if isinstance(arguments, dict) else None, raw)


@dataclass(frozen=True, slots=True)
class ToolResult:
    call_id: str
    content: tuple[Content, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A reply in its provider's own format, sent back verbatim, and only to the same provider, API and model."""

    provider: str
    api: str
    model: str
    payload: tuple[dict[str, Any], ...] = field(hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class UserMessage:
    content: tuple[Content, ...]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """`content` is provider-independent; `native` is the provider's own form of the reply, if it can be sent back."""

    content: tuple[Text | ToolCall, ...]
    stop: Stop = Stop.END
    native: Opaque | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.content if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of all calls of the preceding message, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model requests. `input_tokens` includes cached tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))
