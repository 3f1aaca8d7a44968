"""Events reported by the agent: facts, in the order in which they happened."""

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
    """`origin` is "" for the chat's own reply, else the name of the server whose sampling request is being answered."""

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
    """A server's sampling request has been settled. `cost` is in US dollars, None if unknown.

    `why` is a text for people that says which limit stopped the request.
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
    """`by` says who settled it; "withdrawn" means that the asker was cancelled. `why` is a text for people."""

    question: Question
    verdict: Verdict
    by: Literal["person", "policy", "withdrawn"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """`detail` is a sentence for people (why the server failed, what it offers), or empty."""

    name: str
    state: Literal["starting", "ready", "failed", "lost", "stopped"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Noticed:
    """`server` is "" for the host's own notices. `level` is a log level of MCP."""

    server: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """`reason` is a short sentence. What to do about the error is only said if the last attempt fails."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`detail` is a sentence for people if `stop` is not END; `kind` is the error kind if `stop` is ERROR."""

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
