"""What a watcher may see happen: facts, in the order they happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent.chat.messages import AssistantMessage, Stop, ToolCall, ToolResult, Usage, UserMessage
from agent.chat.questions import Question, Verdict


@dataclass(frozen=True, slots=True)
class TurnStarted:
    message: UserMessage


@dataclass(frozen=True, slots=True)
class TextArrived:
    """`origin` is "" for the chat's own reply, else the server whose sampling request is being answered."""

    text: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingArrived:
    text: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class MessageFinished:
    message: AssistantMessage
    usage: Usage | None
    model: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call: ToolCall
    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    call: ToolCall
    done: float
    total: float | None
    note: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """`server` and `tool` are empty where the model called a tool that does not exist."""

    call: ToolCall
    server: str
    tool: str
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class SampleFinished:
    """A server's sampling request is settled: `verdict` says how, `cost` what it came to in US dollars, if known.

    `why` says for people which limit stopped it.
    """

    server: str
    model: str
    usage: Usage | None
    verdict: Verdict | Literal["error", "limit"]
    cost: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    question: Question


@dataclass(frozen=True, slots=True)
class QuestionSettled:
    """`by` says who settled it; "withdrawn" means nobody wants the answer any more. `why` is for people."""

    question: Question
    verdict: Verdict
    by: Literal["person", "policy", "withdrawn"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """`detail` is a sentence for people, where there is something to say (why it failed, what it offers)."""

    name: str
    state: Literal["starting", "ready", "failed", "lost", "stopped"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Noticed:
    """`server` is "" for the host's own notices. `level` is one of MCP's log levels."""

    server: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """`reason` is a short sentence; what to do about it is said once, if the last try fails as well."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`detail` is a sentence for people where `stop` is not END; `kind` is the error's, with stop ERROR."""

    stop: Stop
    detail: str = ""
    kind: str = ""


Event = (
    TurnStarted
    | TextArrived
    | ThinkingArrived
    | MessageFinished
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | SampleFinished
    | QuestionAsked
    | QuestionSettled
    | ServerChanged
    | Noticed
    | Retrying
    | TurnEnded
)
