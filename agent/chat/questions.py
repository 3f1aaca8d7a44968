"""What may be asked of the person, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent.chat.messages import AssistantMessage, ToolCall
from agent.chat.provider import Request

Verdict = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class ApproveTool:
    """May `call` be run? `tool` is the server's own name for what is called."""

    call: ToolCall
    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class FillForm:
    """A server asks for the fields of `schema` (the flat subset of MCP's elicitation)."""

    server: str
    message: str
    schema: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class OpenUrl:
    server: str
    message: str
    url: str


@dataclass(frozen=True, slots=True)
class ApproveSampling:
    """May `server` put `request` to `model`?"""

    server: str
    model: str
    request: Request


@dataclass(frozen=True, slots=True)
class ReviewSample:
    """May `reply` go to `server`?"""

    server: str
    model: str
    reply: AssistantMessage


Question = ApproveTool | FillForm | OpenUrl | ApproveSampling | ReviewSample


@dataclass(frozen=True, slots=True)
class Answer:
    """`content` holds a form's fields, or an edited text under "text"; `remember` how long an approval holds."""

    verdict: Verdict
    content: dict[str, Any] | None = field(default=None, hash=False)
    remember: Literal["once", "session", "always"] = "once"
    why: str = ""
