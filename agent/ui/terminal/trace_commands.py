"""The slash commands that show MCP traffic and resource updates: the message trace, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.ui.arguments import ArgumentsError

if TYPE_CHECKING:
    from agent.ui.terminal.chat import Chat

_SHOWN = 10


async def trace(chat: Chat, rest: str) -> None:
    """Show each message as it is sent or received, or the last recorded ones."""
    word, _, count = rest.partition(" ")
    seen = chat.host.trace
    match word:
        case "on" | "off":
            seen.shown = word == "on"
            chat.say("Every message is shown as it passes; /trace off ends that." if seen.shown else "Not any more.")
        case "" | "last" if not count or count.strip().isdecimal():
            chat.say("\n".join(seen.last(int(count or _SHOWN))) or "There was no message yet.")
        case _:
            raise ArgumentsError("Say /trace on, /trace off, or /trace last N.")


async def subscribe(chat: Chat, rest: str) -> None:
    """Subscribe to a resource; without a URI, list the subscriptions."""
    if rest:
        server = await chat.host.subscribe(rest)
        chat.say(f"{server} tells when {rest} changes; /unsubscribe {rest} ends that.")
        return
    lines = [f"{name}: {uri}" for name, one in chat.host.connections.items() for uri in one.subscriptions.uris]
    chat.say("\n".join(lines) or "Nothing is subscribed to: say /subscribe URI.")


async def unsubscribe(chat: Chat, rest: str) -> None:
    if not rest:
        raise ArgumentsError("Say what: /unsubscribe URI. /subscribe lists what is subscribed to.")
    server = await chat.host.unsubscribe(rest)
    chat.say(f"{server} does not tell of {rest} any more.")
