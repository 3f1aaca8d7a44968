"""Replies in a provider's own format, and the check whether one may be sent back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.chat.messages import AssistantMessage, Message, Opaque
from agent.chat.provider import Request

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Maker:
    """The origin of a reply: its native form is only sent back to the same one."""

    provider: str
    api: str
    model: str

    def seal(self, payload: tuple[Json, ...]) -> Opaque | None:
        return Opaque(self.provider, self.api, self.model, payload) if payload else None


def native_form(message: Message, request: Request, index: int, maker: Maker) -> Opaque | None:
    """The native form of the message at `index`, if it may be sent verbatim to `maker`."""
    if not isinstance(message, AssistantMessage) or message.native is None or index < request.native_from:
        return None
    native = message.native
    return native if Maker(native.provider, native.api, native.model) == maker else None
