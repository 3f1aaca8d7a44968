"""The server that the official conformance suite examines: `python -m tests.conformance.server --port 3001`.

It is written with the public names of `agent.mcp` alone, as anybody's server would be.
"""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import count

from agent.mcp import Server
from tests.conformance import content, jobs, questions


def make_server() -> Server:
    server = Server("conformance", title="Conformance", instructions="For the official conformance suite.")
    for part in (content, questions, jobs):
        part.register(server)
    register_changes(server)
    return server


def register_changes(server: Server) -> None:
    """Tools that change what there is, for those who listen."""
    numbers = count(1)

    async def nothing() -> str:
        """Something that was added."""
        return "nothing"

    @server.tool
    async def test_trigger_tool_change() -> str:
        """Add a tool, and take it back."""
        name = f"added_{next(numbers)}"
        server.tool(name=name)(nothing)
        server.remove_tool(name)
        return "The list of tools changed."

    @server.tool
    async def test_trigger_prompt_change() -> str:
        """Add a prompt, and take it back."""
        name = f"added_{next(numbers)}"
        server.prompt(name=name)(nothing)
        server.remove_prompt(name)
        return "The list of prompts changed."


def main() -> None:
    parser = ArgumentParser("python -m tests.conformance.server", description=__doc__)
    parser.add_argument("--port", type=int, default=3001, help="on localhost; 0 for any that is free")
    make_server().run(["--http", f"localhost:{parser.parse_args().port}"])


if __name__ == "__main__":
    main()
