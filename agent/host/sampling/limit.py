"""`maxTokens` as a hard cap: a reply that is longer than a server asked for is cut before it goes back.

An API may have a least limit of its own that is higher, or not know the limit at all.
"""

from __future__ import annotations

from dataclasses import replace

from agent.chat.messages import AssistantMessage, Stop, Text
from agent.chat.provider import Finished
from agent.host.sampling.size import text_tokens


def within_limit(finished: Finished, max_tokens: int | None) -> Finished:
    """The reply with no more than `max_tokens` tokens of text, in proportion; calls that were cut are none."""
    if max_tokens is None or (tokens := _written(finished)) <= max_tokens:
        return finished
    text = finished.message.text
    kept = text[: len(text) * max_tokens // tokens]
    content = (Text(kept),) if kept else ()
    return replace(finished, message=AssistantMessage(content, Stop.MAX_TOKENS))


def _written(finished: Finished) -> int:
    """The tokens of a reply without its reasoning: as its API counts them, else estimated.

    A reply of unknown length that its API itself cut is taken to be as long as it was told.
    """
    message, usage = finished.message, finished.usage
    if usage and usage.output_tokens:
        return max(0, usage.output_tokens - usage.reasoning_tokens)
    if message.stop is Stop.MAX_TOKENS:
        return 0
    return text_tokens(message.text) + sum(text_tokens(call.raw) for call in message.tool_calls)
