"""Reports which parts of a configuration have no effect."""

from __future__ import annotations

from agent.chat.events import Noticed, ServerChanged
from agent.chat.outbox import Outbox
from agent.host.config.config import Config


def tell_omissions(config: Config, outbox: Outbox) -> None:
    """A server left out is reported as failed. Entries that await consent are reported by whoever asks for it."""
    for notice in config.notices:
        outbox.emit(Noticed("", "warning", notice))
    for entry in config.disabled:
        if entry.awaits_consent:
            continue
        if entry.kind == "server":
            outbox.emit(ServerChanged(entry.name, "failed", entry.reason))
        else:
            outbox.emit(Noticed("", "warning", f"The provider {entry.name} is left out: {entry.reason}"))
