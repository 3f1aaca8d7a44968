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
    """May the page at `url`, which `server` names, be opened? `host` is where it leads, `warnings` what is odd."""

    server: str
    message: str
    url: str
    host: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitPage:
    """Is the person done with the page at `url`? It settles itself when the server says so."""

    server: str
    message: str
    url: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class ShareRoots:
    """May `server` know that these are the folders the person works in?"""

    server: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApproveSampling:
    """May `server` put `request` to `model`?

    `why` says why it is that model. `tokens` is the estimated size of the request and `cost` what it comes to at most,
    in US dollars; None if no price is known. With `by_hand` no model is asked: the person is to write the reply.
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
    """May `reply` go to `server`?"""

    server: str
    model: str
    reply: AssistantMessage


Question = ApproveTool | FillForm | OpenUrl | AwaitPage | ShareRoots | ApproveSampling | ReviewSample


@dataclass(frozen=True, slots=True)
class Answer:
    """`remember` says how long an approval holds.

    `content` holds a form's fields. Of a sampling request that was edited it holds "system", "text" (of the last
    message) and "max_tokens"; "reply" is what the person answers in the model's place, and "text" what they put in
    the place of a reply under review. For a page it is {"open": False} where the person opens it themselves.
    """

    verdict: Verdict
    content: dict[str, Any] | None = field(default=None, hash=False)
    remember: Literal["once", "session", "always"] = "once"
    why: str = ""
