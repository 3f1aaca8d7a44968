"""The report of one run: its events aggregated for scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent.chat.events import (
    Event,
    MessageFinished,
    QuestionSettled,
    SampleFinished,
    ToolFinished,
    TurnEnded,
)
from agent.chat.messages import Stop, Usage
from agent.chat.questions import (
    ApproveSampling,
    ApproveTool,
    AwaitPage,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
    ShareRoots,
)

KINDS: dict[type[Any], str] = {
    ApproveTool: "tool",
    FillForm: "form",
    OpenUrl: "url",
    AwaitPage: "page",
    ShareRoots: "roots",
    ApproveSampling: "sampling",
    ReviewSample: "review",
}


@dataclass(frozen=True, slots=True)
class CallRecord:
    server: str
    tool: str
    arguments: dict[str, Any] | None
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class SampleRecord:
    server: str
    model: str
    usage: Usage | None
    verdict: str
    cost: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    kind: str
    server: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A request that was not carried out because it was not allowed."""

    kind: str
    server: str
    tool: str | None
    why: str


@dataclass(slots=True)
class Report:
    """Pass it every event of a run with `add`, then read it. `text` is that of the last assistant message.

    `replies` has the usage of each of the model's own replies, None if the API reported none; `usage` is the sum,
    including servers' sampling requests.
    """

    text: str = ""
    model: str = ""
    stop: Stop | None = None
    error: str | None = None
    error_kind: str | None = None
    usage: Usage = field(default_factory=Usage)
    replies: list[Usage | None] = field(default_factory=list)
    tool_calls: list[CallRecord] = field(default_factory=list)
    samples: list[SampleRecord] = field(default_factory=list)
    questions: list[QuestionRecord] = field(default_factory=list)
    denied: list[Denial] = field(default_factory=list)

    def add(self, event: Event) -> None:
        match event:
            case MessageFinished(message, usage, model):
                self.text, self.model = message.text, model
                self.usage += usage or Usage()
                self.replies.append(usage)
            case ToolFinished(call, server, tool, result, seconds):
                self.tool_calls.append(CallRecord(server, tool or call.tool, call.arguments, result.is_error, seconds))
            case SampleFinished(server, model, usage, verdict, cost, why):
                self.samples.append(SampleRecord(server, model, usage, verdict, cost, why))
                self.usage += usage or Usage()
            case QuestionSettled(question, verdict, by, why):
                self._settled(question, verdict, by, why)
            case TurnEnded(stop, detail, kind):
                self.stop = stop
                self.error, self.error_kind = (detail, kind or "error") if stop is Stop.ERROR else (None, None)
            case _:
                pass

    def _settled(self, question: Question, verdict: str, by: str, why: str) -> None:
        self.questions.append(QuestionRecord(KINDS[type(question)], question.server, verdict))
        if verdict != "accept" and by == "policy":
            tool = question.tool if isinstance(question, ApproveTool) else None
            self.denied.append(Denial(KINDS[type(question)], question.server, tool, why))
