"""The measured server of this implementation: stdio, or Streamable HTTP with `--http HOST:PORT`."""

from __future__ import annotations

from agent.mcp import Server

server = Server("ours")


@server.tool
async def echo(message: str) -> str:
    """Say the message back."""
    return message


@server.tool
async def large(size: int) -> str:
    """A text of that many ASCII characters."""
    return "x" * size


if __name__ == "__main__":
    server.run()
