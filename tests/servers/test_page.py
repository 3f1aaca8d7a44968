"""The page about servers: its programs run, and print what it says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from agent.mcp import Client, stdio

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "servers.md").read_text("utf-8")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page, each by the name in its first line."""
    for _, text in FENCED.findall(PAGE):
        if named := re.match(r"# (\S+\.(?:py|toml))\n", text):
            (tmp_path / named[1]).write_text(text, "utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_the_page_has_its_files(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {
        "garden.py",
        "visit.py",
        "test_garden.py",
        "team.toml",
        "voices.py",
    }


def test_the_visit_prints_what_the_page_says(folder: Path) -> None:
    [printed] = [text for kind, text in FENCED.findall(PAGE) if kind == "text"]
    ended = run(folder, "visit.py")
    assert (ended.stdout, ended.stderr, ended.returncode) == (printed, "", 0)


def test_the_test_of_the_page_passes(folder: Path) -> None:
    ended = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:llmock", "test_garden.py")
    assert "1 passed" in ended.stdout


@pytest.mark.anyio
async def test_the_file_of_the_page_is_a_server(folder: Path) -> None:
    command = [sys.executable, "-m", "servers.custom", str(folder / "team.toml")]
    with anyio.fail_after(20):
        async with Client(stdio(command, cwd=ROOT)) as client:
            assert (await client.call_tool("shout", {"text": "hey"})).content[0].text == "HEY!"
            reply = await client.get_prompt("reply", {"letter": "Dear all"})
            assert reply.messages[0].content.text == "Answer this letter in a friendly tone:\n\nDear all"
            assert (await client.read_resource("custom://motto")).contents[0].text == "Slow is smooth."
