"""The official conformance suite, and that what it examines is made of public names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conformance import run

FOLDER = Path(__file__).parent
EXAMINED = ("server", "content", "questions", "jobs", "client")


@pytest.mark.parametrize("name", EXAMINED)
def test_what_is_examined_is_made_of_public_names(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    ours = {module for module in modules if module and module.split(".")[0] in ("agent", "servers", "tests")}
    assert {module for module in ours if not module.startswith("tests.conformance")} == {"agent.mcp"}


@pytest.mark.long
@pytest.mark.parametrize("part", ["server", "client", "auth", "host"])
def test_the_official_suite_finds_nothing_wrong(part: str) -> None:
    assert run.main([part]) == 0
