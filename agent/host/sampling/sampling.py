"""Answers sampling requests: limits, approval, the model request, review, result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from agent.chat.events import QuestionSettled, SampleFinished
from agent.chat.messages import Usage
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, Provider, ProviderError
from agent.chat.questions import Answer, ApproveSampling, ReviewSample
from agent.host.config.config import Config, ConfigError
from agent.host.grants import Grants
from agent.host.prices import Prices
from agent.host.sampling.budget import Budgets, OverBudget, Spent
from agent.host.sampling.context import conversation_context, with_context
from agent.host.sampling.edits import edited_reply, edited_request, reply_by_hand
from agent.host.sampling.messages import INTERNAL_ERROR, Sample, read_sample, write_result
from agent.host.sampling.models import choose_model
from agent.host.sampling.replies import Replies
from agent.host.sampling.size import most_usage, request_tokens, text_tokens
from agent.host.sampling.tools import ask_model
from agent.mcp.errors import McpError

if TYPE_CHECKING:
    from agent.host.client_features import Chat

REJECTED = -1
REJECTION = "User rejected sampling request"


class Sampling:
    """Answers the sampling requests of all servers (section "Client Features, Sampling"), for every revision."""

    def __init__(self, config: Config, outbox: Outbox, chat: Chat, grants: Grants, *, interactive: bool) -> None:
        self._config, self._outbox, self._chat = config, outbox, chat
        self._grants, self._interactive = grants, interactive
        self._budgets = Budgets(config.settings.sampling, chat.turn)
        self._prices, self._replies = Prices(config), Replies()

    async def answer(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `sampling/createMessage`.

        Raises:
            McpError: -1 if it was rejected, -32602 if it is invalid, -32603 if the model failed.
        """
        sample = self._read(server, params)
        try:
            model, why = choose_model(sample.preferences, self._config, self._chat.model())
            provider = self._chat.provider_for(model)
        except (ProviderError, ConfigError) as error:
            raise McpError(INTERNAL_ERROR, str(error)) from error
        question = await self._question(server, provider, sample, why)
        async with self._admitted(question) as spent:
            return await self._settle(question, provider, sample, spent)

    def _read(self, server: str, params: Mapping[str, Any]) -> Sample:
        sample = read_sample(params, self._config.settings.sampling.max_tokens)
        request = sample.request
        messages = tuple(self._replies.recall(server, message) for message in request.messages)
        system = with_context(request.system, self._context(server, sample.context))
        return replace(sample, request=replace(request, messages=messages, system=system))

    def _context(self, server: str, wanted: str) -> str:
        """The conversation as context; empty, whatever the server requests, unless the configuration allows it."""
        table = self._config.servers.get(server)
        if wanted == "none" or table is None or not table.context:
            return ""
        only = server if wanted == "thisServer" else None
        return conversation_context(self._chat.messages(), self._chat.owner_of, only)

    async def _question(self, server: str, provider: Provider, sample: Sample, why: str) -> ApproveSampling:
        tokens = request_tokens(sample.request)
        cost = await self._prices.cost(provider.name, most_usage(sample.request))
        by_hand = self._config.approval(server) == "manual"
        return ApproveSampling(server, provider.name, sample.request, why, tokens, cost, by_hand)

    @asynccontextmanager
    async def _admitted(self, question: ApproveSampling) -> AsyncIterator[Spent]:
        """Apply the server's budget and its limit on concurrent requests."""
        try:
            with self._budgets.admitted(question) as spent:
                async with self._budgets.room(question.server):
                    yield spent
        except OverBudget as over:
            self._stop(question, over)
            raise McpError(REJECTED, f"Sampling limit reached: {over}") from over

    def _stop(self, question: ApproveSampling, over: OverBudget) -> None:
        """Report a request refused by a limit rather than by a person."""
        if over.is_told:
            self._outbox.emit(QuestionSettled(question, "decline", "policy", str(over)))
            self._outbox.emit(SampleFinished(question.server, question.model, None, "limit", why=str(over)))

    async def _settle(
        self, question: ApproveSampling, provider: Provider, sample: Sample, spent: Spent
    ) -> dict[str, Any]:
        answer = await self._approve(question)
        if finished := reply_by_hand(answer):
            self._outbox.emit(SampleFinished(question.server, finished.model, None, "accept"))
            return write_result(sample, finished)
        finished = await self._ask(question, provider, answer)
        usage = finished.usage or _guess(question, finished)
        cost = await self._prices.cost(question.model, usage)
        spent.spend(usage, cost)
        reviewed = await self._review(question, finished, cost)
        self._replies.keep(question.server, reviewed.message)
        self._outbox.emit(SampleFinished(question.server, question.model, finished.usage, "accept", cost))
        return write_result(sample, reviewed)

    async def _approve(self, question: ApproveSampling) -> Answer:
        approval = self._config.approval(question.server)
        if approval == "deny" or (approval == "manual" and not self._interactive):
            refused = Answer("decline", why="The configuration does not allow sampling.")
            self._outbox.emit(QuestionSettled(question, refused.verdict, "policy", refused.why))
            self._reject(question, refused)
        if approval == "allow" or (approval == "ask" and self._grants.has(question.server, "sampling")):
            return Answer("accept")
        answer = await self._outbox.ask(question)
        if answer.verdict != "accept" or (approval == "manual" and not reply_by_hand(answer)):
            self._reject(question, answer)
        self._grants.take(question.server, "sampling", answer)
        return answer

    def _reject(self, question: ApproveSampling, answer: Answer) -> NoReturn:
        verdict = "decline" if answer.verdict == "accept" else answer.verdict
        self._outbox.emit(SampleFinished(question.server, question.model, None, verdict))
        raise McpError(REJECTED, REJECTION)

    async def _ask(self, question: ApproveSampling, provider: Provider, answer: Answer) -> Finished:
        request = edited_request(question.request, answer.content or {})
        try:
            return await ask_model(provider, request, self._outbox, question.server)
        except ProviderError as error:
            self._outbox.emit(SampleFinished(question.server, provider.name, None, "error"))
            raise McpError(INTERNAL_ERROR, self._config.mask(str(error))) from error

    async def _review(self, question: ApproveSampling, finished: Finished, cost: float | None) -> Finished:
        """The reply as approved by the person, who may replace its text."""
        server, model = question.server, question.model
        if self._config.approval(server) == "allow" or self._grants.has(server, "review"):
            return finished
        answer = await self._outbox.ask(ReviewSample(server, model, finished.message))
        if answer.verdict != "accept":
            self._outbox.emit(SampleFinished(server, model, finished.usage, answer.verdict, cost))
            raise McpError(REJECTED, REJECTION)
        self._grants.take(server, "review", answer)
        return replace(finished, message=edited_reply(finished.message, answer))


def _guess(question: ApproveSampling, finished: Finished) -> Usage:
    """The usage of a provider that does not report it: assumed to be as estimated."""
    return Usage(input_tokens=question.tokens, output_tokens=text_tokens(finished.message.text))
