"""The interface between the chat and a model provider. The adapters are in `agent.providers`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from agent.chat.messages import AssistantMessage, Message, Usage

ErrorKind = Literal[
    "auth", "quota", "rate_limit", "overloaded", "timeout", "connection", "server", "context", "too_large",
    "not_found", "bad_request", "bad_tool", "incomplete", "protocol", "missing",
]  # fmt: skip
RETRYABLE: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "overloaded", "timeout", "connection", "server", "incomplete"}
)
"""The error kinds for which the same request may succeed a little later."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as shown to the model. `schema` is the server's own; each adapter converts it for its API."""

    name: str
    description: str
    schema: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One model request.

    Native replies are sent back only for `messages[native_from:]`: earlier messages had another `system` or other
    `tools`, and reasoning is only valid with the exact prefix it was generated from.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    native_from: int = 0
    max_tokens: int | None = None
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    effort: Literal["default", "lowest"] = "default"


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Always the last item of a stream that did not fail. `model` is the model that replied, as reported by the API."""

    message: AssistantMessage
    usage: Usage | None
    model: str


ProviderItem = TextDelta | ThinkingDelta | Finished


class ProviderError(Exception):
    """The model could not be reached or returned an error. The text is one sentence for people that says what to do.

    `retryable`: the same request may succeed later. `retry_after`: seconds the provider asked to wait.
    `tool`: the tool (by the name the model sees) that the provider rejected, with `kind` "bad_tool". `brief`: only what
    happened, shown before a retry. `tries`: how many attempts make sense, if fewer than usual.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        tool: str | None = None,
        brief: str = "",
        tries: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.retryable, self.retry_after, self.tool = kind, retryable, retry_after, tool
        self.brief, self.tries = brief or message, tries


@runtime_checkable
class Capped(Protocol):
    """A provider whose API limits the number of tools; None means no limit."""

    @property
    def max_tools(self) -> int | None: ...


class Provider(Protocol):
    """One model behind one API. `name` is PROVIDER/MODEL as the user writes it."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        """Send one request, no retries. Consumed under `aclosing`; holds no cancel scope or task group across a yield.

        Guarantees about the items:
        * tool calls have unique, non-empty ids of at most 64 characters [A-Za-z0-9_-], also inside `native`;
        * tool calls appear only in a complete reply: one cut off by `max_tokens` has no calls and no `native`;
        * a reply with tool calls has the stop reason TOOL_USE, whatever the API reported;
        * `native` can be sent back as it is: arguments that are no JSON object are replaced by `{}`.

        Raises:
            ProviderError: for every failure; exceptions of the SDK are not passed on.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections, in bounded time."""
        ...
