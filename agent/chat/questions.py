"""The questions that can be put to the person, and their answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent.chat.messages import AssistantMessage, ToolCall
from agent.chat.provider import Request

Verdict = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class ApproveTool:
    """May `call` be run? `tool` is the tool's own name on its server."""

    call: ToolCall
    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class FillForm:
    """A server requests the fields of `schema` (elicitation in form mode: a flat object of primitive types)."""

    server: str
    message: str
    schema: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class OpenUrl:
    """May the page at `url`, named by `server`, be opened? `host` is its host; `warnings` lists what is suspicious."""

    server: str
    message: str
    url: str
    host: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitPage:
    """Has the person finished on the page at `url`? Also settled by the server's completion notification."""

    server: str
    message: str
    url: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class ShareRoots:
    """May `server` be told these folders as its roots?"""

    server: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApproveSampling:
    """May `server` send the sampling request `request` to `model`?

    `why` says why that model was chosen. `tokens` is the estimated size of the request, `cost` its maximum price in
    US dollars, None if unknown. With `by_hand` no model is asked and the person writes the reply.
    """

    server: str
    model: str
    request: Request
    why: str = ""
    tokens: int = 0
    cost: float | None = None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class ReviewSample:
    """May `reply` be sent to `server` as the result of its sampling request?"""

    server: str
    model: str
    reply: AssistantMessage


Question = ApproveTool | FillForm | OpenUrl | AwaitPage | ShareRoots | ApproveSampling | ReviewSample


@dataclass(frozen=True, slots=True)
class Answer:
    """`remember` says how long an approval is valid.

    `content` holds the fields of a form. For an edited sampling request it holds "system", "text" (of the last
    message) and "max_tokens"; "reply" is a reply written by the person instead of the model; "text" replaces the text
    of a reply under review. For a page it is {"open": False} if the person opens it themselves.
    """

    verdict: Verdict
    content: dict[str, Any] | None = field(default=None, hash=False)
    remember: Literal["once", "session", "always"] = "once"
    why: str = ""
