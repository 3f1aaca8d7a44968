"""What the chat needs from a model, and nothing more. The adapters live in `agent.providers`."""

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
"""The kinds after which the same request may well succeed a little later."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is shown it. `schema` is the server's own; an adapter makes it fit its API."""

    name: str
    description: str
    schema: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Native replies are replayed from `messages[native_from:]` only: before it, `system` or `tools` were others, and
    reasoning is bound to the exact prefix it was made with.
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
    """Always the last item of a stream that did not fail. `model` is the one that answered."""

    message: AssistantMessage
    usage: Usage | None
    model: str


ProviderItem = TextDelta | ThinkingDelta | Finished


class ProviderError(Exception):
    """The model could not be reached, or refused. The text is one sentence for people that says what to do.

    `retryable`: the same request may succeed later. `retry_after`: seconds the provider asked to wait.
    `tool`: the tool (by the name the model sees) that the provider refused, with `kind` "bad_tool". `brief`: what
    happened and no more, for when it is tried again anyway. `tries`: how many are worth it, if fewer than usual.
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
    """A provider whose API takes only so many tools; None for as many as there are."""

    @property
    def max_tools(self) -> int | None: ...


class Provider(Protocol):
    """One model behind one API. `name` is PROVIDER/MODEL as the user writes it."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        """Ask once, without retrying. Consumed under `aclosing`; holds no cancel scope or task group across a yield.

        The contract of what arrives:
        * tool calls have unique, non-empty ids of at most 64 characters [A-Za-z0-9_-], also inside `native`;
        * calls are given only if the reply came to its end: one cut by `max_tokens` has none, and no `native`;
        * a reply that holds tool calls stops with TOOL_USE, whatever the API said;
        * `native` is fit to be replayed: arguments that are no JSON object stand in it as `{}`.

        Raises:
            ProviderError: and nothing of the SDK beneath.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections. Never waits long."""
        ...
