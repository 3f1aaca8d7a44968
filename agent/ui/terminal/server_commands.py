"""The slash commands about requests from servers: their sampling requests, and the roots they may list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.ui.arguments import ArgumentsError
from agent.ui.terminal.samples import sample_lines

if TYPE_CHECKING:
    from agent.host.host import Host
    from agent.ui.terminal.chat import Chat

_APPROVALS = {
    "allow": "allowed by the configuration",
    "ask": "you are asked each time",
    "deny": "refused by the configuration",
    "manual": "you answer yourself",
}
_GRANTED = {"sampling": "requests go out unasked", "review": "replies go back unseen"}


async def sampling(chat: Chat, rest: str) -> None:
    """What each server may request from the model, and its requests so far; `forget SERVER` revokes its grants."""
    word, _, server = rest.partition(" ")
    if word == "forget" and server.strip() in chat.host.connections:
        chat.host.grants.withdraw(server.strip(), "sampling", "review")
    elif rest:
        raise ArgumentsError("Say /sampling, or /sampling forget SERVER.")
    rights = [_rights(chat.host, name) for name in chat.host.connections]
    samples = sample_lines(chat.watcher.samples) or ["No server has asked the model yet."]
    chat.say("\n".join([*rights, "", *samples]))


async def roots(chat: Chat, rest: str) -> None:
    """The roots that servers may list; `add FOLDER` and `remove FOLDER` change them for all servers.

    `forget SERVER` discards the user's answer to that server's request.
    """
    word, _, named = rest.partition(" ")
    known, named = chat.host.roots, named.strip()
    change = {"add": known.add, "remove": known.remove}.get(word)
    if word == "forget" and named in chat.host.connections:
        known.forget(named)
        await chat.host.roots_changed()
    elif change and named:
        change(named, Path.cwd())
        await chat.host.roots_changed()
    elif rest:
        raise ArgumentsError("Say /roots, /roots add FOLDER, /roots remove FOLDER, or /roots forget SERVER.")
    lines = [f"For every server that you agree to: {', '.join(known.shared) or 'none'}"]
    lines += [f"For {name}: {', '.join(own)}" for name in chat.host.connections if (own := known.own(name))]
    lines += [f"{name} {said}" for name in chat.host.connections if (said := known.standing(name))]
    chat.say("\n".join(lines))


def _rights(host: Host, server: str) -> str:
    """The permissions from the configuration, and those that the user granted in addition."""
    approval = host.config.approval(server)
    lasting = {"for this session": host.grants.for_session(server), "always": host.grants.standing(server)}
    granted = [
        f"{how_long}: {', '.join(_GRANTED[grant] for grant in grants if grant in _GRANTED)}"
        for how_long, grants in lasting.items()
        if set(grants) & set(_GRANTED)
    ]
    goes_out = approval == "ask" and host.grants.has(server, "sampling")
    said = "you were asked" if goes_out else _APPROVALS[approval]
    return "; ".join([f"{server}: {said}", *granted])
