"""What is left out of a configuration is said, once, to whoever watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.chat.events import Noticed, ServerChanged
from agent.chat.outbox import Outbox
from agent.host.config.config import resolve
from agent.host.host import open_host
from agent.host.options import Options

pytestmark = pytest.mark.anyio

FAULTY = """
[servers.a]
comand = "x"
[servers.b]
args = ["x"]
[servers."c/d"]
command = "x"
[servers.e]
url = "nowhere"
[providers.local]
kind = "opnai"
"""


async def told(folder: Path, options: Options) -> list[object]:
    """Everything that a run without servers and turns emits."""
    environ = {"MCP_CHAT_CONFIG_DIR": str(folder / "home"), "MCP_CHAT_DATA_DIR": str(folder / "data")}
    outbox = Outbox()
    async with open_host(resolve(options, environ, folder), outbox):
        pass
    return list(outbox.drain())


async def test_each_faulty_entry_is_told_once_with_its_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(FAULTY)
    assert await told(tmp_path, Options(config=file)) == [
        ServerChanged(
            "a", "failed", f"{file}: servers.a.comand (line 3): there is no such key. Did you mean 'command'?"
        ),
        ServerChanged("b", "failed", f"{file}: servers.b.command: is missing; a server needs command, url or bundled."),
        ServerChanged(
            "c/d",
            "failed",
            f"{file}: servers.c/d: a server's name may not be empty or hold '/' or control characters.",
        ),
        ServerChanged("e", "failed", f"{file}: servers.e.url: is no address of a server; write https://HOST/PATH."),
        Noticed(
            "",
            "warning",
            f"The provider local is left out: {file}: providers.local.kind (line 11): must be 'openai', 'anthropic' "
            "or 'mock'. Did you mean 'openai'?",
        ),
    ]


async def test_a_faulty_entry_of_another_host_s_file_is_told_too(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"comand": "x"}}}')
    reason = f"{file}: mcpServers.a.comand: there is no such key. Did you mean 'command'?"
    assert await told(tmp_path, Options(mcp_config=(file,))) == [ServerChanged("a", "failed", reason)]


async def test_what_awaits_consent_is_left_to_whoever_asks_for_it_and_the_rest_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mcp-chat.toml"
    file.write_text("[permissions]\ndefault = 'allow'\n[servers.a]\ncommand = 'x'\n")
    assert await told(tmp_path, Options()) == [
        Noticed(
            "",
            "warning",
            f"{file}: permissions.default has no effect: a project's file may not permit more than your own file does.",
        )
    ]
