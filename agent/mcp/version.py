"""The default `clientInfo` of this implementation."""

NAME, VERSION = "mcp-chat", "0.1.0"
