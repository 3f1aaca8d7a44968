"""A run of the whole program within the test's process: what it printed where, and its exit code."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.ui.cli import run
from agent.ui.environment import Environment


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Run:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        return self.lines[-1]


def start(argv: list[str], cwd: Path, stdin: str = "", **environ: str) -> Run:
    """Nobody at the keyboard, no keys, and folders of the test's own."""
    out, err = io.StringIO(), io.StringIO()
    folders = {"MCP_CHAT_CONFIG_DIR": str(cwd / "config"), "MCP_CHAT_DATA_DIR": str(cwd / "data")}
    code = run(argv, Environment(io.StringIO(stdin), out, err, folders | environ, cwd))
    return Run(int(code), out.getvalue(), err.getvalue())


def script(folder: Path, turns: str) -> list[str]:
    """Options for a model that plays `turns`, and no servers."""
    (folder / "script.toml").write_text(turns)
    (folder / "config.toml").write_text('[providers.mock]\nscript = "script.toml"\n')
    return ["-c", str(folder / "config.toml"), "-m", "mock/script"]
