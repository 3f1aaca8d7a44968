"""A server borrows the model: policy, approval, the request without the conversation, review, reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from agent.chat.attempt import attempt
from agent.chat.events import QuestionSettled, SampleFinished
from agent.chat.messages import AssistantMessage, Text, ToolCall
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, Provider, ProviderError
from agent.chat.questions import Answer, ApproveSampling, FillForm, ReviewSample
from agent.host.config import Config, ConfigError
from agent.host.sampling_messages import INTERNAL_ERROR, Sample, read_sample, write_result
from agent.mcp.session import McpError

REJECTED = -1
REJECTION = "User rejected sampling request"

REPLY_FORM = {"type": "object", "properties": {"text": {"type": "string", "title": "Reply"}}, "required": ["text"]}
BY_HAND = "human"

ProviderFor = Callable[[str | None], Provider]
"""The provider of PROVIDER/MODEL; None for the one the chat uses."""


class Sampling:
    """`turn` tells turns apart: when its value changes, the count of requests begins anew."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        provider_for: ProviderFor,
        turn: Callable[[], object],
        *,
        interactive: bool,
    ) -> None:
        self._config, self._outbox, self._provider_for = config, outbox, provider_for
        self._turn, self._count = turn, 0
        self._counted_turn: object = None
        self._interactive = interactive

    async def answer(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `sampling/createMessage` (specification, client/sampling).

        Raises:
            McpError: -1 if it was refused, -32602 if it makes no sense, -32603 if the model failed.
        """
        sample = read_sample(params, self._config.settings.sampling.max_tokens)
        try:
            provider = self._provider(sample)
        except (ProviderError, ConfigError) as error:
            raise McpError(INTERNAL_ERROR, str(error)) from error
        approval = ApproveSampling(server, provider.name, sample.request)
        self._within_limit(approval)
        if self._config.approval(server) == "manual" and self._interactive:
            return await self._by_hand(server, sample)
        await self._approve(approval)
        finished = await self._ask(server, provider, sample)
        reviewed = await self._review(server, finished)
        self._outbox.emit(SampleFinished(server, finished.model, finished.usage, "accept"))
        return write_result(sample, reviewed)

    def _provider(self, sample: Sample) -> Provider:
        """The first hint that the configuration has a model for; else the chat's own model."""
        for hint in sample.hints:
            for part, label in self._config.settings.sampling.models.items():
                if part in hint:
                    return self._provider_for(label)
        return self._provider_for(None)

    def _within_limit(self, approval: ApproveSampling) -> None:
        if (turn := self._turn()) != self._counted_turn:
            self._counted_turn, self._count = turn, 0
        self._count += 1
        limit = self._config.settings.sampling.max_requests_per_turn
        if self._count > limit:
            why = f"sampling.max_requests_per_turn allows {limit} requests in one turn."
            self._refuse(approval, Answer("decline", why=why))

    def _refuse(self, question: ApproveSampling, answer: Answer) -> NoReturn:
        self._outbox.emit(QuestionSettled(question, answer.verdict, "policy", answer.why))
        self._rejected(question.server, question.model, answer)

    def _rejected(self, server: str, model: str, answer: Answer, finished: Finished | None = None) -> NoReturn:
        self._outbox.emit(SampleFinished(server, model, finished.usage if finished else None, answer.verdict))
        raise McpError(REJECTED, REJECTION)

    async def _approve(self, question: ApproveSampling) -> None:
        match self._config.approval(question.server):
            case "allow":
                return
            case "deny" | "manual":
                self._refuse(question, Answer("decline", why="The configuration does not allow sampling."))
        answer = await self._outbox.ask(question)
        if answer.verdict != "accept":
            self._rejected(question.server, question.model, answer)

    async def _ask(self, server: str, provider: Provider, sample: Sample) -> Finished:
        try:
            return await attempt(provider, sample.request, self._outbox, origin=server)
        except ProviderError as error:
            self._outbox.emit(SampleFinished(server, provider.name, None, "error"))
            raise McpError(INTERNAL_ERROR, self._config.mask(str(error))) from error

    async def _review(self, server: str, finished: Finished) -> Finished:
        """The reply as the person lets it through: they may put another text in its place."""
        if self._config.approval(server) == "allow":
            return finished
        answer = await self._outbox.ask(ReviewSample(server, finished.model, finished.message))
        if answer.verdict != "accept":
            self._rejected(server, finished.model, answer, finished)
        return replace(finished, message=_edited(finished.message, answer))

    async def _by_hand(self, server: str, sample: Sample) -> dict[str, Any]:
        answer = await self._outbox.ask(FillForm(server, _last_words(sample), REPLY_FORM))
        text = (answer.content or {}).get("text")
        if answer.verdict != "accept" or not isinstance(text, str):
            self._rejected(server, BY_HAND, answer)
        self._outbox.emit(SampleFinished(server, BY_HAND, None, "accept"))
        return write_result(sample, Finished(AssistantMessage((Text(text),)), None, BY_HAND))


def _edited(message: AssistantMessage, answer: Answer) -> AssistantMessage:
    text = (answer.content or {}).get("text")
    if not isinstance(text, str):
        return message
    calls = tuple(part for part in message.content if isinstance(part, ToolCall))
    return replace(message, content=(Text(text), *calls))


def _last_words(sample: Sample) -> str:
    """The request as a person reads it who answers in the model's place."""
    said = [
        part.text
        for message in sample.request.messages[-1:]
        for part in getattr(message, "content", ())
        if isinstance(part, Text)
    ]
    return "\n".join([*([sample.request.system] if sample.request.system else []), *said])
