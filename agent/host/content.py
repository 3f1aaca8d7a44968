"""Converts content from servers for the model: every kind of content is converted, and nothing raises.

Results are truncated (`Cutter`); the whole text of a truncated result can be read by an id for a while.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mcp_types as types
from pydantic import BaseModel

from agent.chat.messages import AssistantMessage, Audio, Content, Image, Text, UserMessage
from agent.mcp.wire import PromptResult, UnknownContent

EMPTY = "(empty result)"
FOR_USER_ONLY = "(shown to the user only)"
CHARACTERS_KEPT = 50_000_000
SHARE_OF_HEAD = 0.75
SHARED = 2  # together, concurrent calls may return so many results of full length
SHORT = 500  # characters; a result up to this length is never truncated


def for_model(blocks: Iterable[Any]) -> list[Content]:
    """Blocks meant for the user alone (content annotation `audience`) are left out."""
    return [content_of(block) for block in blocks if not for_user_only(block)]


def for_user_only(block: Any) -> bool:
    annotations = getattr(block, "annotations", None)
    return annotations is not None and annotations.audience == ["user"]


def content_of(block: Any) -> Content:
    """Convert one block. A kind that no model accepts is described in text; an unknown kind is shown as JSON."""
    match block:
        case types.TextContent(text=text):
            return Text(text)
        case types.ImageContent(data=data, mime_type=mime_type):
            return Image(data, mime_type)
        case types.AudioContent(data=data, mime_type=mime_type):
            return Audio(data, mime_type)
        case types.ResourceLink():
            return Text(_link(block))
        case types.EmbeddedResource(resource=resource):
            return resource_of(resource)
        case _:
            return Text(
                f"[content of an unknown kind: {to_json(block.raw if isinstance(block, UnknownContent) else block)}]"
            )


def resource_of(resource: Any) -> Content:
    match resource:
        case types.TextResourceContents(uri=uri, text=text):
            return Text(f'<resource uri="{uri}">\n{text}\n</resource>')
        case types.BlobResourceContents(uri=uri, blob=blob, mime_type=mime_type):
            if (mime_type or "").startswith("image/"):
                return Image(blob, mime_type or "")
            if (mime_type or "").startswith("audio/"):
                return Audio(blob, mime_type or "")
            return Text(f"[binary resource {uri}, {mime_type or 'of unknown type'}, {len(blob) * 3 // 4} bytes]")
        case _:
            return Text(f"[resource of an unknown kind: {to_json(resource)}]")


def _link(link: types.ResourceLink) -> str:
    details = [f"name {link.name!r}"]
    details += [f"type {link.mime_type}"] if link.mime_type else []
    details += [f"{link.size} bytes"] if link.size is not None else []
    details += [link.description] if link.description else []
    return f"[resource {link.uri}: {', '.join(details)}]"


def messages_of(prompt: PromptResult) -> list[UserMessage | AssistantMessage]:
    """A server's prompt as messages of a conversation; an assistant message can only have text."""
    return [
        UserMessage((content_of(message.content),))
        if message.role == "user"
        else AssistantMessage((Text(text_of([content_of(message.content)])),))
        for message in prompt.messages
    ]


def text_of(content: Iterable[Content]) -> str:
    """Content as text, for readers that accept nothing else."""
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.mime_type}]" for part in content)


def to_json(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(value, ensure_ascii=False, default=str)


class Cutter:
    """Truncates results to `limit` characters of text, and keeps the full texts up to a total size.

    The results of calls that run `together` may have `SHARED` times that in total, not counting short ones.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._running = self._left = 0
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._count = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """The block in which a call is made and its result truncated."""
        if not self._running:
            self._left = SHARED * self.limit
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def cut(self, content: Sequence[Content]) -> tuple[Content, ...]:
        """`content` if its text is short enough, else its beginning, a note on how to read the rest, and its end."""
        texts = [part.text for part in content if isinstance(part, Text)]
        limit = min(self.limit, max(self._left, SHORT)) if self._running else self.limit
        length = sum(map(len, texts))
        self._left = max(0, self._left - min(length, limit))
        if length <= limit:
            return tuple(content)
        whole = "\n".join(texts)
        head = int(limit * SHARE_OF_HEAD)
        tail = limit - head
        marker = (
            f"\n[… {len(whole) - limit} of {len(whole)} characters left out here. "
            f'Read on with read_result(id="{self._keep(whole)}", offset={head}) …]\n'
        )
        shown = Text(whole[:head] + marker + whole[len(whole) - tail :])
        return (shown, *(part for part in content if not isinstance(part, Text)))

    def read(self, id: str, offset: int) -> str:
        """The part of a result that begins at `offset`.

        Raises:
            KeyError: there is no such result, or it is not kept any more.
        """
        whole = self._kept[id]
        part, end = whole[offset : offset + self.limit], offset + self.limit
        if end >= len(whole):
            return part
        return f'{part}\n[… {len(whole) - end} characters follow: read_result(id="{id}", offset={end}) …]'

    def _keep(self, text: str) -> str:
        self._count += 1
        id = f"r{self._count}"
        self._kept[id] = text
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > CHARACTERS_KEPT:
            self._kept.popitem(last=False)
        return id
