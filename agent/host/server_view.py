"""The state of a server, for people and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["starting", "ready", "failed", "lost", "stopped"]


@dataclass(frozen=True, slots=True)
class ServerView:
    """The current state of a server, without secrets.

    `transport` is "stdio", "http" or "sse". `latency` is that of one request, in seconds; `noise` counts invalid
    output on stdout, and `stderr` is the end of the process's stderr output.
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
