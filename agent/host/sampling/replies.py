"""The native replies to sampling requests, reused when a server sends a reply back with tool results.

MCP cannot transport a model's reasoning, and a model that gets its own tool calls without the reasoning before them
performs worse, or returns an error. So native replies are kept here, by the ids of their tool calls.
"""

from __future__ import annotations

from collections import OrderedDict

from agent.chat.messages import AssistantMessage, Message

KEPT = 500  # tool calls


class Replies:
    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], AssistantMessage] = OrderedDict()

    def keep(self, server: str, reply: AssistantMessage) -> None:
        if reply.native is None:
            return
        for call in reply.tool_calls:
            self._kept[server, call.id] = reply
            self._kept.move_to_end((server, call.id))
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def recall(self, server: str, message: Message) -> Message:
        """The kept reply if its content equals that of `message`; else `message` itself."""
        if not isinstance(message, AssistantMessage) or not message.tool_calls:
            return message
        kept = self._kept.get((server, message.tool_calls[0].id))
        return kept if kept and _said(kept) == _said(message) else message


def _said(message: AssistantMessage) -> object:
    return message.text, [(call.id, call.tool, call.arguments) for call in message.tool_calls]
