"""Limits on each server's sampling requests in one turn, so that a server in a loop is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from agent.chat.messages import ToolMessage, Usage
from agent.chat.questions import ApproveSampling
from agent.host.config.models import SamplingTable

REFUSALS_TOLD = 20
"""Maximum number of refusals reported per server and turn; a server in a loop may cause thousands."""


class OverBudget(Exception):
    """The text is a sentence that names the limit. `is_told`: whether to report it, if there were few so far."""

    def __init__(self, why: str, refused: int) -> None:
        super().__init__(why)
        self.is_told = refused <= REFUSALS_TOLD


@dataclass(slots=True)
class Spent:
    """What one server has used in one turn. `held` values are reserved for requests in progress."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    held_tokens: int = 0
    held_cost: float = 0.0
    refused: int = 0

    def spend(self, usage: Usage, cost: float | None) -> None:
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost += cost or 0.0

    @contextmanager
    def holding(self, tokens: int, cost: float) -> Iterator[None]:
        self.held_tokens += tokens
        self.held_cost += cost
        try:
            yield
        finally:
            self.held_tokens -= tokens
            self.held_cost -= cost


class Budgets:
    """`turn` identifies the turn: when its value changes, all counts start again."""

    def __init__(self, limits: SamplingTable, turn: Callable[[], object]) -> None:
        self._limits, self._turn = limits, turn
        self._counted: object = None
        self._servers: dict[str, Spent] = {}
        self._rooms: dict[str, anyio.Semaphore] = {}

    @contextmanager
    def admitted(self, question: ApproveSampling) -> Iterator[Spent]:
        """Count a request if the limits allow it beside those in progress, and reserve its maximum usage until it ends.

        Yields the account to which the actual usage is added.

        Raises:
            OverBudget: a limit has been reached.
        """
        spent = self._of(question.server)
        spent.requests += 1
        if why := self._objection(spent, question):
            spent.refused += 1
            raise OverBudget(why, spent.refused)
        with spent.holding(question.tokens + (question.request.max_tokens or 0), question.cost or 0.0):
            yield spent

    def room(self, server: str) -> anyio.Semaphore:
        """The semaphore that limits a server's concurrent requests; further ones wait."""
        return self._rooms.setdefault(server, anyio.Semaphore(self._limits.max_concurrent))

    def _of(self, server: str) -> Spent:
        if (turn := self._turn()) != self._counted:
            self._counted = turn
            self._servers.clear()
        return self._servers.setdefault(server, Spent())

    def _objection(self, spent: Spent, question: ApproveSampling) -> str | None:
        limits = self._limits
        tokens, cost = spent.tokens + spent.held_tokens, spent.cost + spent.held_cost
        rounds = sum(isinstance(message, ToolMessage) for message in question.request.messages)
        if spent.requests > limits.max_requests_per_turn:
            return f"sampling.max_requests_per_turn allows {limits.max_requests_per_turn} requests in one turn."
        if tokens + question.tokens >= limits.max_tokens_per_turn:
            return f"sampling.max_tokens_per_turn allows {limits.max_tokens_per_turn:,} tokens in one turn."
        if limits.max_cost_per_turn is not None and cost + (question.cost or 0.0) > limits.max_cost_per_turn:
            return f"sampling.max_cost_per_turn allows ${limits.max_cost_per_turn:g} in one turn."
        if rounds > limits.max_tool_rounds:
            return f"sampling.max_tool_rounds allows {limits.max_tool_rounds} rounds of tools in one conversation."
        return None
