"""The official TypeScript peers, installed by npm into a cache folder on first use."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

PACKAGES = (
    "node@24",  # the peers need a newer one than many systems have
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
)
HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcp-chat-interop"


@cache
def folder() -> Path:
    """Where the executables are. A machine without npm skips these tests."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is needed to install the TypeScript peers")
    installed = HOME / "installed"
    if not installed.exists() or installed.read_text() != "\n".join(PACKAGES):
        HOME.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(HOME), *PACKAGES]
        subprocess.run(command, check=True, timeout=600)
        installed.write_text("\n".join(PACKAGES))
    return HOME / "node_modules" / ".bin"


def environment() -> dict[str, str]:
    """With the node that was installed before any other."""
    return {**os.environ, "PATH": f"{folder()}{os.pathsep}{os.environ.get('PATH', '')}"}


def run(program: str, *arguments: str) -> str:
    """What a peer prints on stdout; its failure is the test's."""
    command = [str(folder() / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
