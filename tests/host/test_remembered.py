"""Memories between runs: read once, as long as nobody writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.host import remembered
from agent.host.config.models import ServerTable
from agent.host.remembered import Memory, identity


def test_a_file_is_read_again_only_when_it_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    memory, other = Memory(path), Memory(path)
    assert memory.read() == {}
    other.write({"a": 1})
    before = memory.read()
    assert (before, memory.read() is before) == ({"a": 1}, True)
    other.write({"a": 2})
    assert (memory.read(), before) == ({"a": 2}, {"a": 1})
    path.unlink()
    assert memory.read() == {}


@pytest.mark.parametrize("damaged", ["", "[]", "not json", "[" * 100_000])
def test_a_damaged_file_is_an_empty_memory(damaged: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    path.write_text(damaged)
    assert (remembered.read(path), Memory(path).read()) == ({}, {})


def test_a_server_is_another_one_under_another_name_command_folder_or_address() -> None:
    tables = [
        *(ServerTable(command="one"), ServerTable(command="one", args=("x",)), ServerTable(command="one", cwd="/")),
        *(ServerTable(url="https://h/mcp"), None),
    ]
    assert len({identity(name, table) for name in ("a", "b") for table in tables}) == 10
    assert identity("a", ServerTable(command="one", timeout=5)) == identity("a", tables[0])
