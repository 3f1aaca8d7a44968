"""The architecture as a test: who may import whom, and how large things may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted([*(ROOT / "agent").rglob("*.py"), *(ROOT / "servers").rglob("*.py")])
VERSION = ""  # of the program, which stands in `agent` itself
MAY_IMPORT = {
    "chat": {"chat"},
    "mcp": {"mcp"},
    "providers": {"providers", "chat"},
    "host": {"host", "providers", "mcp", "chat", VERSION},
    "ui": {"ui", "host", "chat", VERSION},
}
ONLY_UI = {"click", "prompt_toolkit", "rich"}
SANS_IO = [
    *("jsonrpc", "envelope", "peer", "lifecycle", "framing", "batches", "wire", "sse"),
    *("exchange", "routing", "admission"),
    *("client/probing", "client/deprecations", "client/cache", "client/mirrors"),
    *("server/seal", "server/results", "server/signature"),
]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield f"{node.module}"


def floor(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "agent" and len(parts) > 2 else parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_floor_imports_only_from_below(path: Path) -> None:
    here = floor(path)
    for module in imports(path):
        package, _, rest = module.partition(".")
        if package == "agent" and here in MAY_IMPORT:
            assert rest.split(".")[0] in MAY_IMPORT[here], f"{path} imports {module}"
        if here == "servers" and package == "agent":
            assert module == "agent.mcp", f"{path} imports {module}: a server is written with the public names alone"
        if package in ONLY_UI:
            assert here in ("ui", "agent"), f"{path} imports {module}"


@pytest.mark.parametrize("end", ["client", "server"])
def test_the_two_ends_of_the_protocol_do_not_know_each_other(end: str) -> None:
    other = {"client": "agent.mcp.server", "server": "agent.mcp.client"}[end]
    for path in (ROOT / "agent" / "mcp" / end).glob("*.py"):
        assert not [module for module in imports(path) if module.startswith(other)], path


@pytest.mark.parametrize("name", SANS_IO)
def test_the_protocol_core_does_no_io(name: str) -> None:
    modules = {module.partition(".")[0] for module in imports(ROOT / "agent" / "mcp" / f"{name}.py")}
    assert not modules & {"asyncio", "socket", "subprocess", "httpx2", "starlette"}
    assert name == "envelope" or "anyio" not in modules


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 300, f"{path} is too long: split it by what it holds"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert _lines_of_code(node) <= 40, f"{path}: {node.name} is too long"


def _lines_of_code(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without decorators and docstring."""
    first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1
