"""A model request that observes the server's `toolChoice` and `maxTokens`, even if the API cannot enforce them."""

from __future__ import annotations

from dataclasses import replace

from agent.chat.attempt import attempt
from agent.chat.messages import AssistantMessage, Message, Stop, Text, Usage, user
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, Provider, ProviderError, Request
from agent.host.sampling.limit import within_limit

CALL_ONE = "Call one of the tools now; no other answer can be used."


async def ask_model(provider: Provider, request: Request, outbox: Outbox, origin: str) -> Finished:
    """One reply. A model that had to call a tool and did not is asked once more.

    Raises:
        ProviderError: the request failed, or the second reply has no tool call either.
    """
    finished = await _ask_once(provider, request, outbox, origin)
    if request.tool_choice == "none":
        return replace(finished, message=_without_calls(finished.message))
    if not _owes_a_call(request, finished):
        return finished
    again = await _ask_once(provider, _insisting(request, finished.message), outbox, origin)
    if _owes_a_call(request, again):
        raise ProviderError("protocol", f"{provider.name} was to call a tool, and did not.")
    # Its reasoning refers to our additional instruction, which the server's conversation does not have.
    return replace(again, message=replace(again.message, native=None), usage=_sum(finished.usage, again.usage))


async def _ask_once(provider: Provider, request: Request, outbox: Outbox, origin: str) -> Finished:
    return within_limit(await attempt(provider, request, outbox, origin=origin), request.max_tokens)


def _owes_a_call(request: Request, finished: Finished) -> bool:
    message = finished.message
    return request.tool_choice == "required" and message.stop is Stop.END and not message.tool_calls


def _insisting(request: Request, said: AssistantMessage) -> Request:
    before: tuple[Message, ...] = (*request.messages, said) if said.text.strip() else request.messages
    return replace(request, messages=(*before, user(CALL_ONE)))


def _without_calls(message: AssistantMessage) -> AssistantMessage:
    if not message.tool_calls:
        return message
    return AssistantMessage(tuple(part for part in message.content if isinstance(part, Text)))


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one + other if one and other else one or other
