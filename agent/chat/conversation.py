"""The history: append-only, divided into segments that share one system prompt and tool list.

The loop keeps one invariant: every message with tool calls is immediately followed by the message with their
results. So the history can be sent to any model after any interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.chat.messages import Message
from agent.chat.provider import Request, ToolSpec


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the history during which the model, system prompt and tools did not change.

    Providers bind reasoning (and their caches) to the exact prefix of system prompt, tools and earlier messages.
    Within a segment that prefix only grows; `start` is the index of its first message.
    """

    model: str = ""
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    start: int = 0


class Conversation:
    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages = list(messages)
        self.segment = Segment(start=len(self._messages))

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def add(self, message: Message) -> None:
        self._messages.append(message)

    def begin(self, model: str, system: str, tools: tuple[ToolSpec, ...]) -> bool:
        """Set the prefix of the next requests. True if it changed and the current segment already has messages."""
        wanted = replace(self.segment, model=model, system=system, tools=tools)
        if wanted == self.segment:
            return False
        broke = self.segment.start < len(self._messages)
        self.segment = replace(wanted, start=len(self._messages))
        return broke

    def leave_out(self, tool: str | None) -> bool:
        """Remove a tool that the provider rejects. False if it is not in the list."""
        segment = self.segment
        kept = tuple(spec for spec in segment.tools if spec.name != tool)
        if len(kept) == len(segment.tools):
            return False
        self.begin(segment.model, segment.system, kept)
        return True

    def request(self, max_tokens: int | None = None) -> Request:
        """A model request with the whole history."""
        segment = self.segment
        return Request(self.messages, segment.system, segment.tools, native_from=segment.start, max_tokens=max_tokens)
