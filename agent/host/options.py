"""The command line options, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

OutputFormat = Literal["text", "json", "jsonl"]


@dataclass(frozen=True, slots=True)
class Options:
    """Every global option; a field's default means that the option was not given."""

    config: Path | None = None
    mcp_config: tuple[Path, ...] = ()
    servers: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    no_servers: bool = False
    model: str | None = None
    system: str | None = None
    prompt: str | None = None
    output: OutputFormat = "text"
    yes: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sampling: Literal["ask", "allow", "deny"] | None = None
    elicit: str | None = None
    max_turns: int | None = None
    timeout: float | None = None
    max_tokens: int | None = None
    trace: Path | None = None
    color: Literal["auto", "always", "never"] = "auto"
    verbose: int = 0
