"""How much a server may take in one turn."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import ToolMessage, Usage, user
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling
from agent.host.config_models import SamplingTable
from agent.host.sampling_budget import REFUSALS_TOLD, Budgets, OverBudget

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
    try:
        budget.admit(question(server, request, **more))
    except OverBudget as over:
        return str(over)
    return None


def test_requests_are_counted_for_each_server_and_turn() -> None:
    budget, turn = budgets(max_requests_per_turn=2)
    why = "sampling.max_requests_per_turn allows 2 requests in one turn."
    assert [refused(budget), refused(budget), refused(budget), refused(budget, "b")] == [None, None, why, None]
    turn.number = 2
    assert refused(budget) is None


def test_tokens_are_counted_when_they_are_spent() -> None:
    budget, turn = budgets(max_tokens_per_turn=1_000)
    budget.spend("a", Usage(input_tokens=900, output_tokens=99), None)
    assert refused(budget) is None
    assert refused(budget, tokens=1) == "sampling.max_tokens_per_turn allows 1,000 tokens in one turn."
    budget.spend("a", Usage(output_tokens=1), None)
    assert refused(budget) == "sampling.max_tokens_per_turn allows 1,000 tokens in one turn."
    assert refused(budget, "b") is None
    turn.number = 2
    assert refused(budget) is None


def test_what_would_cost_too_much_is_refused_before_it_does() -> None:
    budget, _ = budgets(max_cost_per_turn=0.5)
    assert refused(budget, cost=0.4) is None
    budget.spend("a", Usage(), 0.3)
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


def test_the_first_refusal_is_news_and_thousands_are_not_told() -> None:
    budget, _ = budgets(max_requests_per_turn=0)
    seen: list[tuple[bool, bool]] = []
    for _ in range(REFUSALS_TOLD + 2):
        with pytest.raises(OverBudget) as caught:
            budget.admit(question())
        seen.append((caught.value.is_news, caught.value.is_told))
    assert seen == [(True, True), *[(False, True)] * (REFUSALS_TOLD - 1), (False, False), (False, False)]
