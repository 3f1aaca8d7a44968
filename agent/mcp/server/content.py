"""Conversion of return values to content blocks, messages and resource contents (section "Tools, Data Types")."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from agent.mcp.jsonrpc import without_surrogates
from agent.mcp.lifecycle import at_least

Json = dict[str, Any]

BLOCKS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource": frozenset({"resource"}),
    "resource_link": frozenset({"uri", "name"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"toolUseId", "content"}),
}
"""The kinds of content, and what each must have; the last two occur in sampling only."""

_SIGNATURES = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass(frozen=True, slots=True)
class Image:
    """An image. `data` are the bytes of the file, not base64."""

    data: bytes
    mime_type: str = "image/png"

    def block(self) -> Json:
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """Audio. `data` are the bytes of the file, not base64."""

    data: bytes
    mime_type: str = "audio/wav"

    def block(self) -> Json:
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A complete tool result, to set more than its value (section "Tools, Tool Result").

    `content` is anything a tool may return; `structured` must fit the declared result; `meta` becomes `_meta`.
    """

    content: Any = None
    structured: Json | None = None
    is_error: bool = False
    meta: Json | None = None


Role = Literal["user", "assistant"]
Message = str | tuple[Role, Any] | Mapping[str, Any]
"""Of a prompt or a sampling request: text of the user's, a role and its content, or the protocol's own object."""


def blocks(value: Any) -> list[Json]:
    """The content blocks of a value: text as is, images, audio and blocks as themselves, everything else as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [text(value)]
    if (block := as_block(value)) is not None:
        return [block]
    if isinstance(value, list | tuple) and any(as_block(item) is not None for item in value):
        return [block for item in value for block in blocks(item)]
    return [text(as_json_text(value))]


def as_block(value: Any) -> Json | None:
    """The content block of an image, audio, bytes or a block in the protocol's form; None for everything else."""
    if isinstance(value, Image | Audio):
        return value.block()
    if isinstance(value, bytes):
        return _bytes_block(value)
    value = plain(value)
    if isinstance(value, dict) and BLOCKS.get(str(value.get("type")), {"type?"}) <= value.keys():
        return value
    return None


def messages(value: Message | list[Message], *, listed: bool = False) -> list[Json]:
    """The messages of a prompt; with `listed`, of a sampling request, whose content may be a list of blocks."""
    if isinstance(value, list):
        return [message for item in value for message in messages(item, listed=listed)]
    value = plain(value)
    if isinstance(value, dict) and "role" in value:
        return [value]
    role, content = ("user", value) if not isinstance(value, tuple) else value
    made = blocks(content)
    if listed and len(made) != 1:
        return [{"role": role, "content": made}]
    return [{"role": role, "content": block} for block in made]


def contents(value: Any, uri: str, mime_type: str | None) -> list[Json]:
    """The contents of a resource: text, bytes, the protocol's own objects, or anything else as JSON."""
    if isinstance(value, list) and value and all(_is_contents(plain(item)) for item in value):
        return [plain(item) for item in value]
    if _is_contents(plain(value)):
        return [plain(value)]
    if isinstance(value, Image | Audio):
        return [{"uri": uri, "mimeType": value.mime_type, "blob": _base64(value.data)}]
    if isinstance(value, bytes):
        return [{"uri": uri, "mimeType": mime_type or _sniff(value), "blob": _base64(value)}]
    if isinstance(value, str):
        return [{"uri": uri, "mimeType": mime_type or "text/plain", "text": value}]
    return [{"uri": uri, "mimeType": mime_type or "application/json", "text": as_json_text(value)}]


def block_for(block: Json, revision: str) -> Json:
    """The block, or a text that describes it if `revision` lacks its type."""
    match block["type"]:
        case "audio" if not at_least(revision, "2025-03-26"):
            return text(f"[{block['mimeType']}, {len(block['data']) * 3 // 4:,} bytes]")
        case "resource_link" if not at_least(revision, "2025-06-18"):
            return text(f"{block['name']}: {block['uri']}")
    return block


def message_for(message: Json, revision: str) -> Json:
    """The prompt message with content that `revision` has."""
    return message | {"content": block_for(message["content"], revision)}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def as_json_text(value: Any) -> str:
    """Compact JSON; values that JSON cannot represent are written with `str`, a lone surrogate as "?"."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="null").decode()
    except PydanticSerializationError:
        loose = to_jsonable_python(value, fallback=str, inf_nan_mode="null")
        return to_json(from_json(without_surrogates(loose))).decode()


def plain(value: Any) -> Any:
    """A model of `mcp-types` as JSON; any other value unchanged."""
    if type(value).__module__.startswith("mcp_types"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def _is_contents(value: Any) -> bool:
    return isinstance(value, dict) and "uri" in value and ("text" in value or "blob" in value)


def _bytes_block(data: bytes) -> Json:
    """An image block, or an embedded resource whose URI is the hash of its contents (RFC 6920)."""
    mime_type = _sniff(data)
    if mime_type.startswith("image/"):
        return Image(data, mime_type).block()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
    resource = {"uri": f"ni:///sha-256;{digest}", "mimeType": mime_type, "blob": _base64(data)}
    return {"type": "resource", "resource": resource}


def _sniff(data: bytes) -> str:
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), "application/octet-stream")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
