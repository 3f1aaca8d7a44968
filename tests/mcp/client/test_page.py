"""The page about clients: its program runs, and prints what it says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "client.md").read_text("utf-8")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    (_, program), (_, printed) = FENCED.findall(PAGE)
    file = tmp_path / "ask.py"
    file.write_text(program, "utf-8")
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(file)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == (printed, "", 0)
