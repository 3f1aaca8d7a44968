from __future__ import annotations

import io

import pytest

from agent.chat.events import (
    Event,
    MessageFinished,
    Noticed,
    QuestionSettled,
    Retrying,
    ServerChanged,
    TextArrived,
    ToolFinished,
    TurnEnded,
)
from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, ToolResult
from agent.chat.questions import ApproveTool
from agent.chat.report import Report
from agent.ui.environment import Environment
from agent.ui.plain import Plain
from tests.ui.runs import Terminal

CALL = ToolCall("1", "demo__add", {"a": 3}, '{"a": 3}')
ANSWER = (
    TextArrived("Let me "),
    TextArrived("see."),
    MessageFinished(AssistantMessage((Text("Let me see."), CALL)), None, "m"),
    TextArrived("not for us", "demo"),
    TextArrived("It is\x1b]0;x"),
    TextArrived("\x07 8."),
    MessageFinished(AssistantMessage((Text("It is\x1b]0;x\x07 8."),)), None, "m"),
    TurnEnded(Stop.END),
)


def shown(out: io.StringIO, *events: Event, verbose: bool = False) -> tuple[str, str]:
    err, report = io.StringIO(), Report()
    plain = Plain(Environment(io.StringIO(), out, err, {}), verbose=verbose)
    for event in events:
        report.add(event)
        plain.show(event)
    plain.finish(report, 0.0)
    return out.getvalue(), err.getvalue()


def test_a_pipe_gets_the_last_message_and_a_terminal_all_of_them_as_they_come() -> None:
    assert shown(io.StringIO(), *ANSWER) == ("It is␛]0;x␇ 8.\n", "")
    assert shown(Terminal(), *ANSWER) == ("Let me see.\nIt is␛]0;x␇ 8.\n", "")


NOTES: tuple[tuple[Event, str, str], ...] = (
    (ServerChanged("git", "failed", "It is not there."), "git: It is not there.\n", ""),
    (ServerChanged("git", "ready", "3 tools"), "", ""),
    (Noticed("git", "warning", "odd\x07"), "git: odd␇\n", ""),
    (Noticed("", "error", "odd"), "odd\n", ""),
    (Noticed("git", "info", "well"), "", "git: well\n"),
    (Retrying("Too many requests.", 2.5), "Too many requests. Trying again in 2 s.\n", ""),
    (Retrying("Too many requests.", 0.2), "Too many requests. Trying again now.\n", ""),
    (QuestionSettled(ApproveTool(CALL, "demo", "add"), "decline", "policy", "No."), "demo: No.\n", ""),
    (QuestionSettled(ApproveTool(CALL, "demo", "add"), "accept", "policy"), "", ""),
    (ToolFinished(CALL, "demo", "add", ToolResult("1", (Text("8"),)), 0), "", "● demo/add(a=3)\n  8\n"),
    (ToolFinished(CALL, "", "", ToolResult("1", (), is_error=True), 0), "", "✗ demo__add(a=3)\n  (nothing)\n"),
)


@pytest.mark.parametrize(("event", "always", "verbose"), NOTES)
def test_everything_else_goes_to_stderr(event: Event, always: str, verbose: str) -> None:
    assert shown(io.StringIO(), event, TurnEnded(Stop.END)) == ("", always)
    assert shown(io.StringIO(), event, TurnEnded(Stop.END), verbose=True) == ("", always or verbose)


def test_a_run_that_did_not_end_well_says_why_once() -> None:
    assert shown(io.StringIO()) == ("", "Interrupted.\n")
    ended = (TurnEnded(Stop.INTERRUPTED), TurnEnded(Stop.TIMEOUT, "The time was up."))
    assert shown(io.StringIO(), *ended) == ("", "The time was up.\n")
