"""The tolerant reader: a peer's JSON becomes `mcp_types` models, item by item.

The models are strict, and one bad item in a list would cost all of it. So whatever a peer sends is read here: a bad
item is left out with a notice, content of an unknown kind is kept as it came, null for an optional member counts as
absent, and what is missing from a result is empty. What we send ourselves is strict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    Completion,
    EmbeddedResource,
    ImageContent,
    Implementation,
    Prompt,
    Resource,
    ResourceLink,
    ResourceTemplate,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

Model = TypeVar("Model", bound=BaseModel)
Notice = Callable[[str], None]
"""Called with a sentence for people about what was left out."""


@dataclass(frozen=True, slots=True)
class UnknownContent:
    """A content block of an unknown kind, or one that does not fit its kind. `raw` is the block as received."""

    type: str
    raw: Any


Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool (section "Tools, tool result"). `raw` is the whole result as received.

    `is_error`: the tool ran and failed, and `content` says how. `structured_content` is None where there is none.
    """

    content: tuple[Content, ...]
    structured_content: Any
    is_error: bool
    raw: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    role: Literal["user", "assistant"]
    content: Content


@dataclass(frozen=True, slots=True)
class PromptResult:
    """A prompt with its arguments filled in (section "Prompts, get"). `raw` is the whole result as received."""

    description: str | None
    messages: tuple[PromptMessage, ...]
    raw: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A resource's contents (section "Resources, read"): one item, or several, as for a directory."""

    contents: tuple[TextResourceContents | BlobResourceContents, ...]
    raw: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. `cursor` requests the next page; None means the last one, but an empty string is a cursor."""

    items: list[Any]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """How one list is read: the member that holds it, the model of its items, the member that identifies them."""

    member: str
    model: type[BaseModel]
    key: str


LISTINGS: Mapping[str, Listing] = {
    "tools/list": Listing("tools", Tool, "name"),
    "resources/list": Listing("resources", Resource, "uri"),
    "resources/templates/list": Listing("resourceTemplates", ResourceTemplate, "uri_template"),
    "prompts/list": Listing("prompts", Prompt, "name"),
}

BLOCKS: Mapping[str, type[TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
}


def read_page(method: str, result: Any, notice: Notice) -> Page:
    listing = LISTINGS[method]
    body = _object(result)
    items = body.get(listing.member)
    if items is not None and not isinstance(items, list):
        notice(f"The answer to {method} holds no list of {listing.member}; it counts as empty.")
        items = None
    cursor = body.get("nextCursor")
    read = (_read_item(listing, index, item, notice) for index, item in enumerate(items or []))
    return Page([item for item in read if item is not None], cursor if isinstance(cursor, str) else None)


def read_tool_result(result: Any) -> ToolResult:
    body = _object(result)
    said = body.get("content")
    content = _read_blocks(said) if isinstance(said, list | dict) else ()
    structured = body.get("structuredContent")
    if not content and structured is None and (text := _leftover(result)):
        content = (TextContent(text=text),)
    return ToolResult(content, structured, body.get("isError") is True, result)


def read_prompt_result(result: Any, notice: Notice) -> PromptResult:
    body = _object(result)
    description = body.get("description")
    messages = []
    for message in _list(body.get("messages")):
        role = _object(message).get("role")
        if role == "user" or role == "assistant":
            messages += [PromptMessage(role, block) for block in _read_blocks(message.get("content"))]
        else:
            notice(f"A prompt's message with role {role!r} was left out.")
    return PromptResult(description if isinstance(description, str) else None, tuple(messages), result)


def read_resource_result(result: Any, notice: Notice) -> ReadResult:
    contents: list[TextResourceContents | BlobResourceContents] = []
    for item in _list(_object(result).get("contents")):
        is_blob = _object(item).get("blob") is not None
        try:
            contents.append(read(BlobResourceContents, item) if is_blob else read(TextResourceContents, item))
        except ValidationError as error:
            notice(f"A part of the resource was left out: {_first_fault(error)}.")
    return ReadResult(tuple(contents), result)


def read_completion(result: Any) -> Completion:
    found = _object(_object(result).get("completion"))
    values = [value for value in _list(found.get("values")) if isinstance(value, str)]
    return read(Completion, {**found, "values": values})


def read_server_info(server: Mapping[str, Any]) -> Implementation:
    present = {
        name: value for name, value in server.items() if name not in ("name", "version") or isinstance(value, str)
    }
    return read(Implementation, {"name": "", "version": ""} | present)


def read_capabilities(capabilities: Mapping[str, Any]) -> ServerCapabilities:
    return read(ServerCapabilities, dict(capabilities))


def read_content(block: Any) -> Content:
    """One content block. Never fails: what is not understood is kept."""
    kind = _object(block).get("type")
    if isinstance(kind, str) and (model := BLOCKS.get(kind)):
        try:
            return read(model, block)
        except ValidationError:
            return UnknownContent(kind, block)
    return UnknownContent(kind if isinstance(kind, str) else "", block)


def read(model: type[Model], raw: Any) -> Model:
    """The model, without those optional members that are null or misshapen.

    Raises:
        pydantic.ValidationError: what is required is missing or misshapen.
    """
    try:
        return model.model_validate(raw, by_name=False)
    except ValidationError as error:
        if not isinstance(raw, dict):
            raise
        misshapen = {fault["loc"][0] for fault in error.errors(include_url=False) if fault["loc"]}
        rest = {name: value for name, value in raw.items() if name not in misshapen}
        try:
            return model.model_validate(rest, by_name=False)
        except ValidationError:
            raise error from None  # the first error, which describes the input as received


def _read_item(listing: Listing, index: int, item: Any, notice: Notice) -> BaseModel | None:
    if listing.model is Tool and isinstance(item, dict) and item.get("inputSchema") is None:
        item = {**item, "inputSchema": {"type": "object"}}  # some servers omit the schema of a tool without arguments
    name = _object(item).get("name")
    which = repr(name) if name else f"number {index + 1}"
    try:
        found = read(listing.model, item)
    except ValidationError as error:
        notice(f"{which} in {listing.member} was left out: {_first_fault(error)}.")
        return None
    if not getattr(found, listing.key):  # it cannot be requested
        notice(f"{which} in {listing.member} was left out: {listing.key}: it is empty.")
        return None
    return found


def _read_blocks(content: Any) -> tuple[Content, ...]:
    """The blocks of a list; some servers send one block, or a string, instead of a list."""
    if isinstance(content, str):
        return (TextContent(text=content),)
    return tuple([read_content(block) for block in _list(content)])


def _leftover(result: Any) -> str:
    """The unknown members of a result without content, as JSON, so that they are shown and not lost."""
    if isinstance(result, dict):
        known = ("structuredContent", "isError", "resultType", "_meta")
        result = {name: value for name, value in result.items() if name not in known and (value or name != "content")}
    return to_json(result).decode() if result else ""


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    return ": ".join(filter(None, (".".join(str(part) for part in fault["loc"]), fault["msg"])))


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
