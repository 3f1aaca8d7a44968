"""The host as the official conformance suite meets it: `python -m tests.conformance.host_client URL`.

Nothing here answers a server. The configuration and a file of answers do, by way of the handlers that every chat has.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from agent import load_config, open_host
from agent.host.host import Host

PATIENCE = 25.0  # seconds; the suite has 30
ANSWERS = {"suite": {"confirmed": True}}
# The tools of this scenario, in its order: no state of one may turn up in another.
REQUEST_STATE = ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type")

CONFIG = """
[chat]
model = "mock/demo"
[sampling]
approve = "allow"
[servers.suite]
url = {url}
protocol = {protocol}
elicitation = "answers.json"
roots = ["."]
"""


def configure(folder: Path, url: str, protocol: str) -> Path:
    (folder / "answers.json").write_text(json.dumps(ANSWERS))
    path = folder / "mcp-chat.toml"
    path.write_text(CONFIG.format(url=json.dumps(url), protocol=json.dumps(protocol)))
    return path


async def run(config: Path, scenario: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with open_host(load_config(config)) as host:
            await host.settled()
            schemas = {tool.name: tool.input_schema for tool in host.tools()}
            for name in REQUEST_STATE if scenario == "sep-2322-client-request-state" else schemas:
                await call(host, name, schemas[name])


async def call(host: Host, name: str, schema: dict[str, Any]) -> None:
    """Call it with what its schema demands."""
    properties = schema.get("properties", {})
    numbers = iter((5, 3, 1, 2))
    arguments = {one: specimen(properties.get(one, {}), numbers) for one in schema.get("required", ())}
    await host.call_tool(name, arguments)


def specimen(rules: dict[str, Any], numbers: Iterator[int]) -> Any:
    match rules.get("type"):
        case "integer" | "number":
            return next(numbers)
        case "boolean":
            return True
        case _:
            return "x"


def main() -> None:
    protocol = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or "auto"
    with tempfile.TemporaryDirectory() as folder:
        config = configure(Path(folder), sys.argv[-1], protocol)
        anyio.run(run, config, os.environ.get("MCP_CONFORMANCE_SCENARIO", ""))


if __name__ == "__main__":
    main()
