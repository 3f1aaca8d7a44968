"""mcp-chat: an LLM chat agent for the terminal with its own MCP layer."""

from __future__ import annotations

__version__ = "0.1.0"
