"""A person's changes to a sampling request before it is sent, and to the reply before it is returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.chat.messages import AssistantMessage, Content, Message, Text, UserMessage
from agent.chat.provider import Finished, Request
from agent.chat.questions import Answer

BY_HAND = "human"
"""The model name in the result if the person wrote the reply."""


def editable_text(request: Request) -> str | None:
    """The text of the last message, if it has the role "user"; None if there is nothing to edit."""
    last = request.messages[-1] if request.messages else None
    return _text(last.content) if isinstance(last, UserMessage) else None


def edited_request(request: Request, edits: Mapping[str, Any]) -> Request:
    """The request with the person's edits; they may lower the token limit, but not raise it."""
    changes: dict[str, Any] = {}
    system, text, limit = edits.get("system"), edits.get("text"), edits.get("max_tokens")
    if isinstance(system, str):
        changes["system"] = system
    if isinstance(text, str) and text != editable_text(request):
        changes["messages"] = (*request.messages[:-1], _reworded(request.messages[-1], text))
    if isinstance(limit, int) and limit > 0:
        changes["max_tokens"] = min(limit, request.max_tokens or limit)
    return replace(request, **changes) if changes else request


def reply_by_hand(answer: Answer) -> Finished | None:
    """The reply written by the person, if they gave one instead of an approval."""
    reply = (answer.content or {}).get("reply")
    return Finished(AssistantMessage((Text(reply),)), None, BY_HAND) if isinstance(reply, str) else None


def edited_reply(message: AssistantMessage, answer: Answer) -> AssistantMessage:
    """The reply with the text replaced by the person's; its tool calls are kept."""
    text = (answer.content or {}).get("text")
    if not isinstance(text, str) or text == message.text:
        return message
    return AssistantMessage((Text(text), *message.tool_calls), message.stop)


def _reworded(message: Message, text: str) -> Message:
    if not isinstance(message, UserMessage):
        return message
    return UserMessage((Text(text), *(part for part in message.content if not isinstance(part, Text))))


def _text(content: tuple[Content, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))
