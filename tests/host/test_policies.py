"""What configuration answers in a person's place."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import AssistantMessage, Text, ToolCall
from agent.chat.provider import Request
from agent.chat.questions import (
    Answer,
    ApproveSampling,
    ApproveTool,
    AwaitPage,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
    ShareRoots,
)
from agent.host.policies import configured_answer, fill, headless_policy
from tests.host.scene import configure

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seat": {"type": "string", "enum": ["window", "aisle"]},
        "meal": {"type": "boolean", "default": False},
        "day": {"type": "string", "format": "date", "default": "2026-01-31"},
    },
    "required": ["seat"],
}
FORM = FillForm("demo", "Which seat?", SCHEMA)
CALL = ToolCall("1", "demo__add", {})
SAMPLE = ApproveSampling("demo", "mock/demo", Request(()))
REVIEW = ReviewSample("demo", "mock/demo", AssistantMessage((Text("hi"),)))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (ApproveTool(CALL, "demo", "add"),
         Answer("decline", why="Nobody can be asked; allow it with --allow 'demo/add' or --yes.")),
        (ApproveTool(CALL, "demo", "*"), Answer("decline", why="Nobody can be asked; allow it with --yes.")),
        (ApproveTool(CALL, "demo", "a'; rm"), Answer("decline", why="Nobody can be asked; allow it with --yes.")),
        (SAMPLE, Answer("decline", why="Nobody can be asked; allow it with --sampling allow.")),
        (REVIEW, Answer("decline", why="Nobody can be asked; allow it with --sampling allow.")),
        (FORM, Answer("cancel", why="Nobody can be asked; answer it with --elicit defaults or a file of answers.")),
        (OpenUrl("demo", "Sign in", "https://h"), Answer("decline", why="Nobody can be asked to open an address.")),
        (AwaitPage("demo", "Sign in", "https://h"), Answer("cancel", why="Nobody can be asked to open an address.")),
        (ShareRoots("demo", ("/srv",)),
         Answer("decline", why="Nobody can be asked; name the folders with roots under [servers.demo].")),
    ],
)  # fmt: skip
def test_where_nobody_can_be_asked_everything_is_refused_with_the_flag_that_allows_it(
    question: Question, answer: Answer
) -> None:
    assert headless_policy(configure({"demo": {}}))(question) == answer


def test_sampling_that_is_allowed_is_accepted_for_that_server_only() -> None:
    policy = headless_policy(configure({"demo": {"sampling": "allow"}, "other": {}}))
    verdicts = [policy(question) for question in (SAMPLE, REVIEW, ApproveSampling("other", "m", Request(())))]
    assert [answer and answer.verdict for answer in verdicts] == ["accept", "accept", "decline"]


@pytest.mark.parametrize("verdict", ["decline", "cancel"])
def test_a_form_is_refused_as_configured(verdict: str) -> None:
    answer = configured_answer(configure({"demo": {"elicitation": verdict}}), FORM)
    assert answer is not None
    assert (answer.verdict, answer.why) == (verdict, f"The configuration says to {verdict} the questions of demo.")


@pytest.mark.parametrize("verdict", ["decline", "cancel"])
def test_a_page_is_refused_as_configured(verdict: str) -> None:
    answer = headless_policy(configure({"demo": {"elicitation": verdict}}))(OpenUrl("demo", "Sign in", "https://h"))
    assert answer is not None
    assert (answer.verdict, answer.why) == (verdict, f"The configuration says to {verdict} the questions of demo.")


def test_a_form_that_is_to_be_asked_is_not_answered() -> None:
    assert configured_answer(configure({"demo": {}}), FORM) is None


def test_a_form_is_filled_from_what_is_given_and_from_its_defaults() -> None:
    assert fill(FORM, {"seat": "aisle", "meal": True, "unknown": 1}) == Answer(
        "accept", {"seat": "aisle", "meal": True, "day": "2026-01-31"}
    )


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "'seat' is a required property"),
        ({"seat": "roof"}, "seat: 'roof' is not one of ['window', 'aisle']"),
        ({"seat": "aisle", "day": "2026-02-30"}, "day: '2026-02-30' is not a 'date'"),
    ],
)
def test_a_form_that_the_answers_do_not_fill_is_declined_with_the_reason(given: dict[str, Any], fault: str) -> None:
    why = f"The configured answers do not fill the form of demo: {fault}."
    assert fill(FORM, given) == Answer("decline", why=why)


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": {"a": True}}])
def test_a_misshapen_form_asks_for_nothing(schema: dict[str, Any]) -> None:
    assert fill(FillForm("demo", "?", schema), {}) == Answer("accept", {})


def test_a_file_answers_each_server_s_own_form() -> None:
    from dataclasses import replace

    config = configure({"demo": {"elicitation": "/a.json"}, "other": {"elicitation": "/a.json"}})
    config = replace(config, answers={"/a.json": {"demo": {"seat": "window"}}})
    assert configured_answer(config, FORM) == Answer("accept", {"seat": "window", "meal": False, "day": "2026-01-31"})
    other = configured_answer(config, FillForm("other", "?", SCHEMA))
    assert other is not None
    assert other.verdict == "decline"
