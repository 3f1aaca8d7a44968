"""Converts parts of messages to forms that every model API accepts."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, TypeVar, cast

from pydantic_core import to_json

from agent.chat.messages import AssistantMessage, Audio, Content, Image, Message, Text, ToolCall
from agent.chat.provider import Request

NO_OUTPUT = "(no output)"
NO_TEXT = "(empty message)"
USE_A_TOOL = "Answer by calling one of the tools, not in words."

_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_ID_LENGTH = 64

T = TypeVar("T")


def is_viewable(part: Content) -> bool:
    """Whether it is an image in a format that all models with image input accept."""
    return isinstance(part, Image) and part.mime_type in _IMAGES and _size(part.data) > 0


def data_url(image: Image) -> str:
    return f"data:{image.mime_type};base64,{image.data}"


def as_text(part: Content) -> str:
    """The part's text, or a description of a part that cannot be sent."""
    match part:
        case Text(text):
            return text
        case Image(data, mime_type):
            return f"[image {mime_type}, {_size(data)} bytes, not sent to the model]"
        case Audio(data, mime_type):
            return f"[audio {mime_type}, {_size(data)} bytes, not sent to the model]"


def joined(parts: Iterable[Content], separator: str = "\n") -> str:
    return separator.join(text for part in parts if (text := as_text(part)).strip())


def _size(data: str) -> int:
    """Number of bytes encoded by the base64; 0 if it is not valid base64, which an API would reject."""
    try:
        return len(b64decode(data, validate=True))
    except ValueError:
        return 0


def safe_id(id: str) -> str:
    """A valid id for a tool call; the same input always gives the same id."""
    return id if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id) else _squeezed(id)


def safe_name(name: str) -> str:
    """A tool name that the APIs accept, also for a name that the model made up."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) else _squeezed(name)


def _squeezed(text: str) -> str:
    tidy = re.sub(r"[^A-Za-z0-9_-]", "_", text) or "unnamed"
    if len(tidy) <= _ID_LENGTH:
        return tidy
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{tidy[: _ID_LENGTH - 9]}_{digest}"


class CallIds:
    """Gives each tool call of a reply an id that is unique in its conversation and valid for every API."""

    def __init__(self, messages: Iterable[Message]) -> None:
        said = (message for message in messages if isinstance(message, AssistantMessage))
        self._taken = {call.id for message in said for call in message.tool_calls}

    def claim(self, wanted: str | None) -> str:
        base = safe_id(wanted) if wanted else "call"
        number = 1
        id = base if wanted else "call_1"
        while id in self._taken:
            number += 1
            id = f"{base[: _ID_LENGTH - 8]}_{number}"
        self._taken.add(id)
        return id


def arguments_of(call: ToolCall) -> dict[str, Any]:
    return call.arguments or {}


def arguments_json(call: ToolCall) -> str:
    """The arguments as valid JSON, even if what the model wrote is not."""
    return to_json(arguments_of(call), inf_nan_mode="null").decode()


def system_of(request: Request, *, forced_tools: bool) -> str:
    """The system prompt, with an instruction to call a tool if the API cannot force the model to."""
    asks = request.tools and request.tool_choice == "required" and not forced_tools
    return "\n\n".join(filter(None, (request.system, USE_A_TOOL if asks else "")))


def sendable(value: T) -> T:
    """The same JSON with every string encodable as UTF-8: with a lone surrogate every later request would fail."""
    return cast(T, _sendable(value))


def _sendable(value: Any) -> Any:
    match value:
        case str():
            return _whole(value)
        case dict():
            return {_sendable(key): _sendable(member) for key, member in value.items()}
        case list():
            return [_sendable(member) for member in value]
        case tuple():
            return tuple(_sendable(member) for member in value)
    return value


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
