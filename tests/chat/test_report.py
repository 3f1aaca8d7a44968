from __future__ import annotations

import pytest

from agent.chat.events import (
    Event,
    MessageFinished,
    Noticed,
    QuestionAsked,
    QuestionSettled,
    Retrying,
    SampleFinished,
    ServerChanged,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, ToolResult, Usage, user
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling, ApproveTool, FillForm, OpenUrl, Question, ReviewSample, Verdict
from agent.chat.report import CallRecord, Denial, QuestionRecord, Report, SampleRecord

ADD = ToolCall.parse("1", "sums__add", '{"a": 1}')
BROKEN = ToolCall.parse("2", "nobody", "{oops")
REPLY = AssistantMessage((Text("It is "), Text("8.")))
QUESTIONS: list[tuple[str, Question]] = [
    ("tool", ApproveTool(ADD, "sums", "add")),
    ("form", FillForm("sums", "Which seat?", {})),
    ("url", OpenUrl("sums", "Sign in", "https://example.com")),
    ("sampling", ApproveSampling("sums", "mock/demo", Request(()))),
    ("review", ReviewSample("sums", "mock/demo", REPLY)),
]


def report(*events: Event) -> Report:
    made = Report()
    for event in events:
        made.add(event)
    return made


def test_a_run_is_folded_into_one_value() -> None:
    assert report(
        TurnStarted(user("3 + 5?")),
        TextArrived("It is"),
        ThinkingArrived("hm"),
        MessageFinished(AssistantMessage((Text("Let me see."), ADD), Stop.TOOL_USE), Usage(10, 2), "m-1"),
        ToolStarted(ADD, "sums", "add"),
        ToolProgressed(ADD, 1, 2, "half"),
        ToolFinished(ADD, "sums", "add", ToolResult("1", (Text("8"),)), 0.5),
        ToolFinished(BROKEN, "", "", ToolResult("2", (), True), 0.0),
        SampleFinished("sums", "m-2", Usage(5, 1), "accept", 0.25),
        SampleFinished("sums", "m-2", None, "error"),
        Retrying("overloaded", 1.5),
        ServerChanged("sums", "ready"),
        Noticed("sums", "info", "hello"),
        QuestionAsked(QUESTIONS[0][1]),
        MessageFinished(REPLY, None, "m-3"),
        TurnEnded(Stop.END),
    ) == Report(
        text="It is 8.",
        model="m-3",
        stop=Stop.END,
        usage=Usage(15, 3),
        replies=[Usage(10, 2), None],
        tool_calls=[CallRecord("sums", "add", {"a": 1}, False, 0.5), CallRecord("", "nobody", None, True, 0.0)],
        samples=[SampleRecord("sums", "m-2", Usage(5, 1), "accept", 0.25), SampleRecord("sums", "m-2", None, "error")],
    )


@pytest.mark.parametrize(("kind", "question"), QUESTIONS)
def test_what_a_policy_refuses_is_denied(kind: str, question: Question) -> None:
    tool = "add" if kind == "tool" else None
    for verdict in ("decline", "cancel"):
        assert report(QuestionSettled(question, verdict, "policy", "nobody to ask")) == Report(
            questions=[QuestionRecord(kind, "sums", verdict)], denied=[Denial(kind, "sums", tool, "nobody to ask")]
        )


@pytest.mark.parametrize(("kind", "question"), QUESTIONS)
@pytest.mark.parametrize(
    ("verdict", "by"), [("accept", "policy"), ("accept", "person"), ("decline", "person"), ("cancel", "withdrawn")]
)
def test_what_a_person_decides_or_a_policy_allows_is_not(
    kind: str, question: Question, verdict: Verdict, by: str
) -> None:
    settled = QuestionSettled(question, verdict, by)  # type: ignore[arg-type]
    assert report(settled) == Report(questions=[QuestionRecord(kind, "sums", verdict)])


def test_an_error_is_told_with_its_kind() -> None:
    ended = TurnEnded(Stop.ERROR, "The key was refused.", "auth")
    assert report(ended) == Report(stop=Stop.ERROR, error="The key was refused.", error_kind="auth")
    assert report(TurnEnded(Stop.ERROR, "Odd.")) == Report(stop=Stop.ERROR, error="Odd.", error_kind="error")


def test_a_limit_is_no_error_and_a_later_turn_clears_one() -> None:
    assert report(TurnEnded(Stop.MAX_TURNS, "30 requests were not enough.")) == Report(stop=Stop.MAX_TURNS)
    assert report(TurnEnded(Stop.ERROR, "No.", "auth"), TurnEnded(Stop.END)) == Report(stop=Stop.END)
