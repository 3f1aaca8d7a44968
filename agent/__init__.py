"""mcp-chat: an LLM chat agent for the terminal with its own MCP layer."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would double the time of `--version`
if TYPE_CHECKING:
    from typing import Any

    from agent.host.config.config import load_config
    from agent.host.host import open_host

__version__ = "0.1.0"
__all__ = ["load_config", "open_host"]

_HOMES = {"load_config": "agent.host.config.config", "open_host": "agent.host.host"}


def __getattr__(name: str) -> Any:
    """Loaded when first used (PEP 562): a server that imports `agent.mcp` loads no host, `--version` loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
