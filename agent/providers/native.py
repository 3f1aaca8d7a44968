"""A provider's own form of a reply: taken out of its SDK, and recognised when it comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.chat.messages import AssistantMessage, Message, Opaque
from agent.chat.provider import Request

if TYPE_CHECKING:
    from pydantic import BaseModel

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made a reply: only the same may read its native form."""

    provider: str
    api: str
    model: str

    def seal(self, payload: tuple[Json, ...]) -> Opaque | None:
        return Opaque(self.provider, self.api, self.model, payload) if payload else None


def native_form(message: Message, request: Request, index: int, maker: Maker) -> Opaque | None:
    """The native form of the message at `index`, if it may go out verbatim to `maker`."""
    if not isinstance(message, AssistantMessage) or message.native is None or index < request.native_from:
        return None
    native = message.native
    return native if Maker(native.provider, native.api, native.model) == maker else None


def plain(model: BaseModel) -> Json:
    """What was received, unknown fields too, and nothing that was not."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
