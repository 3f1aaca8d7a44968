"""The conversation as context for a sampling request (section "Sampling", `includeContext`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent.chat.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent.host.content import text_of

LONGEST = 20_000  # characters; the newest are kept

OwnerOf = Callable[[str], str]
"""The server of a tool, by the name that the model sees; "" if there is none."""


def with_context(system: str, context: str) -> str:
    if not context:
        return system
    return "\n\n".join(filter(None, [system, f"<context>\n{context}\n</context>"]))


def conversation_context(messages: Sequence[Message], owner_of: OwnerOf, server: str | None) -> str:
    """The conversation as text; with `server`, only the calls and results of that server's tools."""
    text = "\n".join(_lines(messages, owner_of, server))
    return text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"


def _lines(messages: Sequence[Message], owner_of: OwnerOf, server: str | None) -> Iterator[str]:
    owners: dict[str, str] = {}
    for message in messages:
        match message:
            case UserMessage(content) if server is None:
                yield f"user: {text_of(content)}"
            case AssistantMessage():
                owners |= {call.id: owner_of(call.tool) for call in message.tool_calls}
                if message.text and server is None:
                    yield f"assistant: {message.text}"
                for call in message.tool_calls:
                    if server in (None, owners[call.id]):
                        yield f"assistant calls {call.tool}: {call.raw}"
            case ToolMessage(results):
                for result in results:
                    if server in (None, owners.get(result.call_id)):
                        yield f"tool: {text_of(result.content)}"
            case _:
                pass
