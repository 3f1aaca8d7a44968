"""`maxTokens` as a hard limit: a longer reply is truncated before it is returned to the server.

An API may have a higher minimum for its own limit, or no limit at all.
"""

from __future__ import annotations

from dataclasses import replace

from agent.chat.messages import AssistantMessage, Stop, Text
from agent.chat.provider import Finished
from agent.host.sampling.size import text_tokens


def within_limit(finished: Finished, max_tokens: int | None) -> Finished:
    """The reply with at most `max_tokens` tokens of text, cut in proportion; a truncated reply has no tool calls."""
    if max_tokens is None or (tokens := _written(finished)) <= max_tokens:
        return finished
    text = finished.message.text
    kept = text[: len(text) * max_tokens // tokens]
    content = (Text(kept),) if kept else ()
    return replace(finished, message=AssistantMessage(content, Stop.MAX_TOKENS))


def _written(finished: Finished) -> int:
    """The tokens of a reply without reasoning, as counted by the API, else estimated.

    A reply of unknown length that the API itself cut off is assumed to be within the limit.
    """
    message, usage = finished.message, finished.usage
    if usage and usage.output_tokens:
        return max(0, usage.output_tokens - usage.reasoning_tokens)
    if message.stop is Stop.MAX_TOKENS:
        return 0
    return text_tokens(message.text) + sum(text_tokens(call.raw) for call in message.tool_calls)
