"""A server as people and scripts see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["starting", "ready", "failed", "lost", "stopped"]


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server as it is now, without secrets.

    `transport` is "stdio", "http" or "sse". `latency` is what one request took, in seconds; `noise` counts what it
    printed on stdout that is no message, and `stderr` is the end of what it wrote there.
    """

    name: str
    state: State
    detail: str = ""
    transport: str = ""
    revision: str = ""
    latency: float | None = None
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    stderr: str = ""
    noise: int = 0
    required: bool = False
    sign_in: Literal["", "signed in", "not signed in"] = ""
