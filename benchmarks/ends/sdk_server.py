"""The measured server of the official SDK: stdio, or Streamable HTTP with `--http HOST:PORT`."""

from __future__ import annotations

import sys


def main(structured_output: bool | None = None) -> None:
    """`structured_output`: None, the SDK's default, sends a `-> str` result twice; False sends it once, like ours."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("sdk", log_level="ERROR")

    @server.tool(structured_output=structured_output)
    async def echo(message: str) -> str:
        """Say the message back."""
        return message

    @server.tool(structured_output=structured_output)
    async def large(size: int) -> str:
        """A text of that many ASCII characters."""
        return "x" * size

    if sys.argv[1:2] == ["--http"]:
        host, _, port = sys.argv[2].rpartition(":")
        server.run("streamable-http", host=host, port=int(port))
    else:
        server.run()


if __name__ == "__main__":
    main()
