"""What a call remembers from one run of its function to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent.mcp.errors import McpError
from agent.mcp.server.ledger import ChangedQuestion, Ledger, checked

pytestmark = pytest.mark.anyio

ROOTS = {"method": "roots/list"}


def test_questions_are_named_by_their_order_or_their_key() -> None:
    ledger = Ledger()
    names = [ledger.name(key) for key in (None, None, "seat", "seat", None, "seat-2")]
    assert names == ["question-1", "question-2", "seat", "seat-2", "question-3", "seat-2-2"]
    assert ledger.again().name(None) == "question-1"


def test_an_answer_is_recalled_for_the_same_question_alone() -> None:
    ledger = Ledger()
    assert ledger.recall("question-1", ROOTS) is None
    ledger.answers["question-1"] = {"roots": []}
    again = ledger.again()
    assert again.recall("question-1", {**ROOTS}) == {"roots": []}
    with pytest.raises(ChangedQuestion, match="'question-1' is another one"):
        again.recall("question-1", {"method": "sampling/createMessage"})


async def test_once_is_once_also_for_those_who_come_together() -> None:
    ledger, runs = Ledger(), []

    async def compute() -> int:
        runs.append(1)
        await anyio.lowlevel.checkpoint()
        return len(runs)

    values: list[Any] = []

    async def want() -> None:
        values.append(await ledger.once("key", compute))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(want)
    assert (values, runs) == ([1, 1, 1], [1])


async def test_what_failed_is_tried_again() -> None:
    ledger, runs = Ledger(), []

    async def compute() -> int:
        runs.append(1)
        if len(runs) == 1:
            raise OSError("busy")
        return len(runs)

    with pytest.raises(OSError, match="busy"):
        await ledger.once("key", compute)
    assert await ledger.once("key", compute) == 2
    assert await ledger.again().once("key", compute) == 2


async def test_a_value_is_what_json_makes_of_it_from_the_first_time_on() -> None:
    @dataclass
    class Point:
        x: int

    async def compute() -> Any:
        return (Point(1), {2: None})

    assert await Ledger().once("key", compute) == [{"x": 1}, {"2": None}]


async def test_a_value_that_is_no_json_is_an_error_at_once() -> None:
    async def compute() -> Any:
        return object()

    with pytest.raises(ValueError, match="Unable to serialize unknown type"):
        await Ledger().once("key", compute)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("elicitation/create", {"action": "decline"}),
        ("elicitation/create", {"action": "accept", "content": {}}),
        ("sampling/createMessage", {"role": "assistant", "content": {"type": "text", "text": "x"}}),
        ("roots/list", {"roots": []}),
    ],
)
def test_answers_in_their_shape_are_taken(method: str, answer: Any) -> None:
    assert checked("q", {"method": method}, answer) is answer


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("elicitation/create", {"action": "ok"}),
        ("elicitation/create", None),
        ("sampling/createMessage", {"role": "assistant"}),
        ("roots/list", {"roots": None}),
        ("roots/list", []),
    ],
)
def test_others_are_refused_by_name(method: str, answer: Any) -> None:
    with pytest.raises(McpError) as refused:
        checked("q", {"method": method}, answer)
    assert (refused.value.code, refused.value.message) == (-32602, f"inputResponses.q is no answer to {method}")
