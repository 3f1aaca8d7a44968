"""The measured server, the official SDK's: stdio, or Streamable HTTP with `--http HOST:PORT`.

Its tools send their text once, as ours do: by default the SDK repeats a `-> str` as structured content.
"""

from __future__ import annotations

import sys


def main() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("sdk", log_level="ERROR")

    @server.tool(structured_output=False)
    async def echo(message: str) -> str:
        """Say the message back."""
        return message

    @server.tool(structured_output=False)
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
