"""What became of a server's request to the model, in a line."""

from __future__ import annotations

import time

import pytest

from agent.chat.events import Event, Noticed, QuestionSettled, SampleFinished
from agent.chat.messages import AssistantMessage, Usage
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling, ReviewSample
from agent.ui.terminal.samples import sample_lines, sampled

REQUEST = ApproveSampling("notes", "openai/gpt", Request(()))
REPLY = ReviewSample("notes", "openai/gpt", AssistantMessage(()))
LIMIT = "sampling.max_requests_per_turn allows 2 requests in one turn."


@pytest.mark.parametrize(
    ("before", "verdict", "said"),
    [
        (QuestionSettled(REPLY, "accept", "person"), "accept", "answered"),
        (QuestionSettled(REQUEST, "decline", "person"), "decline", "you refused the request"),
        (QuestionSettled(REPLY, "decline", "person"), "decline", "you refused the reply"),
        (QuestionSettled(REPLY, "cancel", "person"), "cancel", "you cancelled the reply"),
        (QuestionSettled(REQUEST, "decline", "policy", LIMIT), "decline", f"stopped at the request ({LIMIT[:-1]})"),
        (None, "limit", f"stopped at the request ({LIMIT[:-1]})"),
        (QuestionSettled(REQUEST, "accept", "person"), "error", "failed"),
        (Noticed("x", "info", "x"), "error", "failed"),
        (None, "accept", "answered"),
    ],
)
def test_a_limit_and_a_person_s_no_to_either_step_are_told_apart(before: Event | None, verdict: str, said: str) -> None:
    event = SampleFinished("notes", "openai/gpt", None, verdict, why=LIMIT)  # type: ignore[arg-type]
    at = time.mktime((2026, 1, 31, 9, 5, 7, 0, 0, -1))
    line = f"◇ 09:05:07 notes asked openai/gpt: {said}, no tokens, –"
    assert sampled(event, before, at).line == line


def test_what_one_limit_stops_again_and_again_takes_one_line() -> None:
    stopped, failed = (
        SampleFinished("notes", "m", None, "limit", why=LIMIT),
        SampleFinished("notes", "m", None, "error"),
    )
    samples = [sampled(event, None, 0) for event in (failed, failed, stopped, stopped, stopped, failed)]
    lines = [line[11:] for line in sample_lines(samples)]
    line = f"notes asked m: stopped at the request ({LIMIT[:-1]}), no tokens, – (and 2 more like it)"
    assert lines == [*["notes asked m: failed, no tokens, –"] * 2, line, "notes asked m: failed, no tokens, –"]


def test_what_a_person_wrote_and_what_it_cost_is_said() -> None:
    written = SampleFinished("notes", "human", None, "accept")
    cheap = SampleFinished("notes", "m", Usage(1_200, 8), "accept", 0.00001)
    assert [sampled(event, None, 0).line[11:] for event in (written, cheap)] == [
        "notes asked you: answered, no tokens, –",
        "notes asked m: answered, 1,200 + 8 tokens, less than $0.0001",
    ]
