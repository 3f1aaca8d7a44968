"""What the program's sentences tell people to type: it exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agent.ui.command_table import global_options
from agent.ui.terminal.commands import COMMAND_NAMES

ROOT = Path(__file__).parent.parent
COMMAND = re.compile(r"(?<![^\s“(\[`])/([a-z_]{2,})(?![\w/])")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def sentences(path: Path) -> Iterator[str]:
    """Texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in loose and isinstance(node.value, str):
            yield from [node.value] if " " in node.value else []


def told(pattern: re.Pattern[str]) -> set[str]:
    modules = [path for path in (ROOT / "agent").rglob("*.py") if "mcp" not in path.relative_to(ROOT).parts]
    return {word for path in modules for text in sentences(path) for word in pattern.findall(text)}


def test_every_command_that_a_sentence_names_is_one() -> None:
    assert {"help", "read", "unsubscribe"} <= told(COMMAND) <= {*COMMAND_NAMES}


def test_every_option_that_a_sentence_names_is_one() -> None:
    options = {name for option in global_options() for name in option.opts}
    assert {"--only", "--allow"} <= told(OPTION) <= {*options, "--help"}
