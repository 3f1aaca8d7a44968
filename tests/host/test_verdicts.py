"""What is remembered of servers between runs: bounded, private, and never in the way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agent.host import remembered
from agent.host.verdicts import KEPT, Verdicts


def test_a_verdict_is_there_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "verdicts.json"
    assert Verdicts(path).get("python3 server.py") is None
    Verdicts(path).set("python3 server.py", "2026-07-28")
    Verdicts(path).set("https://h", "2025-06-18")
    Verdicts(path).set("python3 server.py", "2025-11-25")
    assert (Verdicts(path).get("python3 server.py"), Verdicts(path).get("https://h")) == ("2025-11-25", "2025-06-18")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["verdicts.json"]


def test_the_file_does_not_tell_what_a_command_line_holds(tmp_path: Path) -> None:
    Verdicts(tmp_path / "v").set("serve --key sk-12345 \ud800", "2025-11-25")
    assert "sk-12345" not in (tmp_path / "v").read_text()


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v")
    remembered.write(tmp_path / "v", {str(number): "2025-11-25" for number in range(KEPT)})
    verdicts.set("new", "2026-07-28")
    kept = json.loads((tmp_path / "v").read_text())
    assert (len(kept), "0" in kept, "1" in kept) == (KEPT, False, True)
    assert verdicts.get("new") == "2026-07-28"


@pytest.mark.parametrize("damaged", ["", "[]", "{", '{"a": 1', "\xff", "[" * 100_000])
def test_a_damaged_file_is_an_empty_memory(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "v").write_bytes(damaged.encode("latin-1"))
    assert Verdicts(tmp_path / "v").get("x") is None
    Verdicts(tmp_path / "v").set("x", "2025-11-25")
    assert Verdicts(tmp_path / "v").get("x") == "2025-11-25"


def test_a_value_that_is_no_revision_is_none(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v")
    verdicts.set("x", "2025-11-25")
    (tmp_path / "v").write_text((tmp_path / "v").read_text().replace('"2025-11-25"', "7"))
    assert verdicts.get("x") is None


def test_where_nothing_can_be_written_nothing_is_remembered_and_nothing_fails() -> None:
    verdicts = Verdicts(Path("/dev/null/verdicts.json"))
    verdicts.set("x", "2025-11-25")
    assert verdicts.get("x") is None
