"""How much a server may take in one turn."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Any

import pytest

from agent.chat.messages import ToolMessage, Usage, user
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling
from agent.host.config.models import SamplingTable
from agent.host.sampling.budget import REFUSALS_TOLD, Budgets, OverBudget

REQUEST = Request((user("x"),))


class Turn:
    def __init__(self) -> None:
        self.number = 1

    def __call__(self) -> int:
        return self.number


def budgets(**limits: Any) -> tuple[Budgets, Turn]:
    turn = Turn()
    return Budgets(SamplingTable(**limits), turn), turn


def question(server: str = "a", request: Request = REQUEST, **more: Any) -> ApproveSampling:
    return ApproveSampling(server, "mock/demo", request, **more)


def refused(budget: Budgets, server: str = "a", request: Request = REQUEST, **more: Any) -> str | None:
    """Why a request that is over at once, and has spent nothing, is not admitted."""
    try:
        with budget.admitted(question(server, request, **more)):
            return None
    except OverBudget as over:
        return str(over)


def spend(budget: Budgets, usage: Usage, cost: float | None = None) -> None:
    with budget.admitted(question()) as spent:
        spent.spend(usage, cost)


def test_requests_are_counted_for_each_server_and_turn() -> None:
    budget, turn = budgets(max_requests_per_turn=2)
    why = "sampling.max_requests_per_turn allows 2 requests in one turn."
    assert [refused(budget), refused(budget), refused(budget), refused(budget, "b")] == [None, None, why, None]
    turn.number = 2
    assert refused(budget) is None


def test_tokens_are_counted_when_they_are_spent() -> None:
    budget, turn = budgets(max_tokens_per_turn=1_000)
    spend(budget, Usage(input_tokens=900, output_tokens=99))
    assert refused(budget) is None
    assert refused(budget, tokens=1) == "sampling.max_tokens_per_turn allows 1,000 tokens in one turn."
    spend(budget, Usage(output_tokens=1))
    assert refused(budget) == "sampling.max_tokens_per_turn allows 1,000 tokens in one turn."
    assert refused(budget, "b") is None
    turn.number = 2
    assert refused(budget) is None


def test_what_would_cost_too_much_is_refused_before_it_does() -> None:
    budget, _ = budgets(max_cost_per_turn=0.5)
    assert refused(budget, cost=0.4) is None
    spend(budget, Usage(), 0.3)
    assert refused(budget, cost=0.1) is None
    assert refused(budget, cost=0.3) == "sampling.max_cost_per_turn allows $0.5 in one turn."
    assert refused(budget, cost=None) is None


def test_a_conversation_with_tools_goes_only_so_deep() -> None:
    budget, _ = budgets(max_tool_rounds=2)
    rounds = (user("x"), *[ToolMessage(())] * 3)
    assert refused(budget, request=Request(rounds[:3])) is None
    assert refused(budget, request=Request(rounds)) == (
        "sampling.max_tool_rounds allows 2 rounds of tools in one conversation."
    )


@pytest.mark.parametrize(
    ("limit", "more"), [("max_tokens_per_turn", {"tokens": 100}), ("max_cost_per_turn", {"cost": 200.0})]
)
def test_ten_requests_at_once_have_no_more_than_ten_after_another(limit: str, more: dict[str, Any]) -> None:
    budget, _ = budgets(max_requests_per_turn=20, **{limit: 1_000})
    large = Request((user("x"),), max_tokens=100)
    admitted = 0
    with ExitStack() as under_way:
        for _ in range(10):
            with suppress(OverBudget):
                under_way.enter_context(budget.admitted(question(request=large, **more)))
                admitted += 1
        assert f"sampling.{limit} allows" in str(refused(budget, request=large, **more))
    assert admitted == 5
    assert refused(budget, request=large, **more) is None  # they are over, and spent nothing


def test_what_is_under_way_when_a_turn_ends_is_no_matter_of_the_next() -> None:
    budget, turn = budgets(max_tokens_per_turn=1_000)
    with budget.admitted(question(tokens=900)) as spent:
        turn.number = 2
        assert refused(budget, tokens=900) is None
        spent.spend(Usage(input_tokens=900), None)
    assert refused(budget, tokens=900) is None


def test_of_thousands_of_refusals_the_first_are_told() -> None:
    budget, _ = budgets(max_requests_per_turn=0)
    told: list[bool] = []
    for _ in range(REFUSALS_TOLD + 2):
        with pytest.raises(OverBudget) as caught, budget.admitted(question()):
            pass
        told.append(caught.value.is_told)
    assert told == [*[True] * REFUSALS_TOLD, False, False]
