"""What is granted to a server: once, for the session, for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.chat.questions import Answer
from agent.host.config.models import ServerTable
from agent.host.grants import Grants

ONE = ServerTable(command="one")


def grants(path: Path, table: ServerTable = ONE) -> Grants:
    return Grants(path / "grants.json", {"notes": table, "other": ONE})


@pytest.mark.parametrize(
    ("answer", "now", "later"),
    [
        (Answer("accept"), False, False),
        (Answer("accept", remember="session"), True, False),
        (Answer("accept", remember="always"), True, True),
        (Answer("decline", remember="always"), False, False),
    ],
)
def test_an_approval_holds_as_long_as_it_says(answer: Answer, now: bool, later: bool, tmp_path: Path) -> None:
    granted = grants(tmp_path)
    granted.take("notes", "sampling", answer)
    assert (granted.has("notes", "sampling"), grants(tmp_path).has("notes", "sampling")) == (now, later)


def test_it_holds_for_that_server_that_thing_and_that_command_only(tmp_path: Path) -> None:
    granted = grants(tmp_path)
    granted.take("notes", "review", Answer("accept", remember="always"))
    assert granted.standing("notes") == ["review"]
    assert not granted.has("notes", "sampling")
    assert not granted.has("other", "review")
    assert not grants(tmp_path, ServerTable(command="another")).has("notes", "review")


def test_it_can_be_taken_back(tmp_path: Path) -> None:
    granted = grants(tmp_path)
    granted.take("notes", "review", Answer("accept", remember="always"))
    granted.take("notes", "sampling", Answer("accept", remember="session"))
    granted.take("other", "roots", Answer("accept", remember="always"))
    granted.take("notes", "roots", Answer("accept", remember="always"))
    assert (granted.for_session("notes"), granted.standing("notes")) == (["sampling"], ["review", "roots"])
    granted.withdraw("notes", "sampling", "review")
    assert [granted.has("notes", "review"), granted.has("notes", "sampling")] == [False, False]
    assert (granted.for_session("notes"), grants(tmp_path).standing("notes")) == ([], ["roots"])
    assert grants(tmp_path).standing("other") == ["roots"]


@pytest.mark.parametrize("damaged", ["", "[]", '{"x": 1}', "not json"])
def test_a_damaged_memory_grants_nothing(damaged: Any, tmp_path: Path) -> None:
    (tmp_path / "grants.json").write_text(damaged)
    assert grants(tmp_path).standing("notes") == []


def test_what_cannot_be_written_holds_for_the_session() -> None:
    granted = grants(Path("/dev/null"))
    granted.take("notes", "sampling", Answer("accept", remember="always"))
    assert granted.has("notes", "sampling")
