"""Differences between models and servers, as a table. The longest matching prefix wins, models before hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class OpenAIQuirks:
    """For every API in an OpenAI format. The defaults suit an unknown server."""

    temperature: bool = True
    stop: bool = True
    """Supports stop sequences; otherwise the text is cut in this program."""
    max_tokens_field: str = "max_tokens"
    reasoning: bool = False
    """Supports reasoning, and returns it encrypted (Responses only)."""
    summaries: bool = True
    """Can return a summary of its reasoning."""
    lowest_effort: str | None = None
    effort_with_tools: str | None = None
    """The only reasoning effort that Chat Completions accepts together with tools."""
    echo_reasoning: bool = False
    """Requires its `reasoning_content` to be sent back."""
    audio: bool = False


@dataclass(frozen=True, slots=True)
class ClaudeQuirks:
    """For every API in Anthropic's format. The defaults suit an unknown model."""

    cache: bool = False
    forced_tools: bool = True
    thinking: dict[str, Any] = field(default_factory=dict)
    """Parameters of an ordinary request."""
    lowest: dict[str, Any] = field(default_factory=dict)
    """Parameters of a request with as little reasoning as possible."""


_HOSTS: dict[str, dict[str, Any]] = {
    "api.openai.com": {"max_tokens_field": "max_completion_tokens"},
    "openai.azure.com": {"max_tokens_field": "max_completion_tokens"},
    "api.deepseek.com": {"echo_reasoning": True},
    "api.moonshot.ai": {"echo_reasoning": True},
    "api.moonshot.cn": {"echo_reasoning": True},
    "api.x.ai": {"echo_reasoning": True, "stop": False},
    "api.z.ai": {"echo_reasoning": True},
}

_THINKS = {"temperature": False, "stop": False, "reasoning": True, "max_tokens_field": "max_completion_tokens"}
_OPENAI_MODELS: dict[str, dict[str, Any]] = {
    "o1": {**_THINKS, "lowest_effort": "low"},
    "o3": {**_THINKS, "lowest_effort": "low"},
    "o4": {**_THINKS, "lowest_effort": "low"},
    "gpt-5": {**_THINKS, "lowest_effort": "minimal"},
    "gpt-5.": {**_THINKS, "lowest_effort": "none"},
    "gpt-5.4": {**_THINKS, "lowest_effort": "none", "effort_with_tools": "none"},
    "gpt-5.5": {**_THINKS, "lowest_effort": "none", "effort_with_tools": "none"},
    "gpt-5.6": {**_THINKS, "lowest_effort": "none", "effort_with_tools": "none"},
    "gpt-6": {**_THINKS, "lowest_effort": "low", "effort_with_tools": "none"},
    "gpt-audio": {"audio": True},
    "gpt-4o-audio": {"audio": True},
}

# Reasoning is only valid with the prefix it was generated from. Drop a block that does not match, do not fail.
_BINDING = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING_BETA = "thinking-binding-controls-2026-08-01"

_ADAPTIVE = {"thinking": {"type": "adaptive", "display": "summarized", **_BINDING}}
_LOW = {"output_config": {"effort": "low"}}
_CLAUDE_5 = {"cache": True, "forced_tools": False, "thinking": _ADAPTIVE, "lowest": {**_ADAPTIVE, **_LOW}}
_CLAUDE_MODELS: dict[str, dict[str, Any]] = {
    "claude-": {"cache": True},
    "claude-fable-5": _CLAUDE_5,
    "claude-mythos-5": _CLAUDE_5,
    "claude-opus-5": _CLAUDE_5,
    "claude-sonnet-5": _CLAUDE_5,
    "claude-haiku-5": _CLAUDE_5,
    "claude-sonnet-5-5": {**_CLAUDE_5, "lowest": {"thinking": {"type": "between_tools"}, **_LOW}},
    "claude-haiku-5-5": {**_CLAUDE_5, "lowest": {"thinking": {"type": "disabled"}}},
}


def openai_quirks(model: str, host: str) -> OpenAIQuirks:
    served = _longest(name for name in _HOSTS if host == name or host.endswith(f".{name}"))
    known = _longest(name for name in _OPENAI_MODELS if model.startswith(name))
    return replace(OpenAIQuirks(), **{**_HOSTS.get(served, {}), **_OPENAI_MODELS.get(known, {})})


def claude_quirks(model: str) -> ClaudeQuirks:
    known = _longest(name for name in _CLAUDE_MODELS if model.startswith(name))
    return replace(ClaudeQuirks(), **_CLAUDE_MODELS.get(known, {}))


def _longest(names: Iterable[str]) -> str:
    return max(names, key=len, default="")
