from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from agent.ui import piped
from agent.ui.environment import Environment
from agent.ui.piped import NoPromptError, read_prompt
from tests.ui.runs import Terminal


def environment(stdin: io.TextIOBase) -> Environment:
    return Environment(stdin, io.StringIO(), io.StringIO(), {}, Path())  # type: ignore[arg-type]


def pipe(data: bytes, *, closed: bool = True) -> tuple[io.TextIOWrapper, int]:
    read, write = os.pipe()
    os.write(write, data)
    if closed:
        os.close(write)
    return os.fdopen(read), write


def test_at_a_terminal_there_is_a_chat_or_what_the_command_line_says() -> None:
    assert read_prompt(None, environment(Terminal("typed"))) is None
    assert read_prompt("asked", environment(Terminal("typed"))) == "asked"


@pytest.mark.parametrize(
    ("given", "prompt"), [(None, "text é\n"), ("-", "text é\n"), ("explain", "explain\n\ntext é\n"), ("", "text é\n")]
)
def test_a_pipe_is_the_prompt_or_joins_it(given: str | None, prompt: str) -> None:
    stdin, _ = pipe("\ufefftext é\n".encode())
    with stdin:
        assert read_prompt(given, environment(stdin)) == prompt


def test_a_pipe_that_says_nothing_is_left_alone_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped, "PATIENCE", 0.01)
    stdin, write = pipe(b"", closed=False)
    here = environment(stdin)
    with stdin:
        assert read_prompt("asked", here) == "asked"
    os.close(write)
    assert here.stderr.getvalue() == (  # type: ignore[attr-defined]
        "Nothing came in on stdin for 0.01 s, so it is left alone; -p - would wait for it.\n"
    )


@pytest.mark.parametrize("given", [None, "-", "", "  "])
def test_nothing_at_all_is_no_prompt(given: str | None) -> None:
    stdin, _ = pipe(b" \n")
    with stdin, pytest.raises(NoPromptError):
        read_prompt(given, environment(stdin))


def test_what_is_not_utf_8_is_replaced() -> None:
    stdin, _ = pipe(b"caf\xe9")
    with stdin:
        assert read_prompt("\udce9", environment(stdin)) == "�\n\ncaf�"
