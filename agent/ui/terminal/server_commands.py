"""The slash commands about what servers may ask: whose samples there were, and which folders they may know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.ui.arguments import ArgumentsError

if TYPE_CHECKING:
    from agent.chat.events import SampleFinished
    from agent.host.host import Host
    from agent.ui.terminal.chat import Chat

_APPROVALS = {
    "allow": "allowed by the configuration",
    "ask": "you are asked each time",
    "deny": "refused by the configuration",
    "manual": "you answer yourself",
}
_VERDICTS: dict[Any, str] = {"accept": "answered", "decline": "refused", "cancel": "cancelled", "error": "failed"}


async def sampling(chat: Chat, rest: str) -> None:
    """What each server may ask of the model, and every request so far; `forget SERVER` takes back what it may."""
    word, _, server = rest.partition(" ")
    if word == "forget" and server.strip() in chat.host.connections:
        chat.host.grants.withdraw(server.strip())
    elif rest:
        raise ArgumentsError("Say /sampling, or /sampling forget SERVER.")
    rights = [_rights(chat.host, name) for name in chat.host.connections]
    samples = [_sample(event) for event in chat.watcher.samples] or ["No server has asked the model yet."]
    chat.say("\n".join([*rights, "", *samples]))


async def roots(chat: Chat, rest: str) -> None:
    """The folders that servers may know of; `add FOLDER` and `remove FOLDER` change those for all servers."""
    word, _, folder = rest.partition(" ")
    change = {"add": chat.host.roots.add, "remove": chat.host.roots.remove}.get(word)
    if rest and not (change and folder.strip()):
        raise ArgumentsError("Say /roots, /roots add FOLDER, or /roots remove FOLDER.")
    if change:
        change(folder.strip(), Path.cwd())
        await chat.host.roots_changed()
    shared = chat.host.roots.shared
    lines = [f"For every server that you agree to: {', '.join(shared) or 'none'}"]
    lines += [f"For {name}: {', '.join(own)}" for name in chat.host.connections if (own := chat.host.roots.own(name))]
    chat.say("\n".join(lines))


def _rights(host: Host, server: str) -> str:
    always = [grant for grant in host.grants.standing(server) if grant != "roots"]
    granted = {"sampling": "requests go out unasked", "review": "replies go back unseen"}
    said = "; always: " + ", ".join(granted[grant] for grant in always if grant in granted) if always else ""
    return f"{server}: {_APPROVALS[host.config.approval(server)]}{said}"


def _sample(event: SampleFinished) -> str:
    spent = f"{event.usage.input_tokens:,} + {event.usage.output_tokens:,} tokens" if event.usage else "no tokens"
    cost = "–" if event.cost is None else f"${event.cost:.4f}"
    return f"◇ {event.server} asked {event.model}: {_VERDICTS[event.verdict]}, {spent}, {cost}"
