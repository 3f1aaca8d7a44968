"""What this implementation calls itself to servers, unless its user gives it another name."""

NAME, VERSION = "mcp-chat", "0.1.0"
