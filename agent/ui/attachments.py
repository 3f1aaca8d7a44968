"""Resources mentioned in a line as @URI: their contents are attached to the message, labelled with their URIs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.chat.messages import Content, Text, UserMessage
from agent.host.errors import HostError

if TYPE_CHECKING:
    from agent.host.host import Host

_MENTION = re.compile(r"(?<!\S)@(\S+)")
_PUNCTUATION = ".,;:!?)]}\"'"


def has_mentions(line: str) -> bool:
    return _MENTION.search(line) is not None


async def attached(host: Host, line: str) -> UserMessage:
    """The line as a user message, with the resources it mentions. An @word that names no resource stays plain text.

    Raises:
        HostError: a resource cannot be read, or several servers offer it.
    """
    parts: list[Content] = [Text(line)]
    for uri, server in dict.fromkeys(_mentioned(host, word) for word in _MENTION.findall(line)):
        if server:
            parts += await host.attach(uri, server)
    return UserMessage(tuple(parts))


def _mentioned(host: Host, word: str) -> tuple[str, str]:
    """The URI in a word, without punctuation at its end, and its server; the server is "" if no server has the URI."""
    listed = any(str(one.item.uri) == word for one in host.resources())
    for uri in (word,) if listed else (word.rstrip(_PUNCTUATION), word):
        owners = host.catalogue.owners_of(uri)
        if len(owners) > 1:
            raise HostError(f"Several servers have {uri}: {', '.join(owners)}; use /read to choose.")
        if owners:
            return uri, owners[0]
    return word, ""
