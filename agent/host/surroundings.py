"""The dependencies shared by all connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.chat.outbox import Outbox
from agent.host.client_features import ClientFeatures
from agent.host.config.config import Config
from agent.host.config.models import ServerTable
from agent.host.oauth.oauth import SignIns
from agent.host.trace import Trace
from agent.host.transports import reach
from agent.host.verdicts import Verdicts
from agent.mcp.envelope import Transport

OpenTransport = Callable[[ServerTable], Transport]


@dataclass(frozen=True, slots=True)
class Surroundings:
    config: Config
    outbox: Outbox
    features: ClientFeatures
    trace: Trace
    verdicts: Verdicts
    sign_ins: SignIns
    open_transport: OpenTransport = reach

    def mask(self, text: str) -> str:
        """`text` with every secret masked, whether configured or obtained by signing in."""
        return self.sign_ins.mask(self.config.mask(text))
