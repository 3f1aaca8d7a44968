"""The program as a process: signals, pipes, terminals, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent import __version__
from tests.ui.runs import script
from tests.ui.screen import Terminal


@contextmanager
def program(argv: list[str], cwd: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    environ = {
        **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        "MCP_CHAT_CONFIG_DIR": str(cwd / "config"),
        "MCP_CHAT_DATA_DIR": str(cwd / "data"),
        "PYTHONPATH": os.getcwd(),
    }
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    with subprocess.Popen([sys.executable, "-m", "agent", *argv], cwd=cwd, env=environ, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def imported(argv: list[str], cwd: Path) -> set[str]:
    """The modules that a run with these arguments has loaded at its end."""
    code = f"import sys; sys.argv[1:] = {argv!r}; from agent.__main__ import main; main(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=os.getcwd(), capture_output=True, check=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_is_told_before_anything_is_imported(tmp_path: Path) -> None:
    modules = imported(["--version"], tmp_path)
    assert {name for name in modules if name.startswith("agent")} == {"agent", "agent.__main__"}
    assert not modules & {"click", "dataclasses", "asyncio", "pydantic"}


def test_the_help_imports_click_and_none_of_what_it_describes(tmp_path: Path) -> None:
    modules = imported(["--help"], tmp_path)
    assert {name for name in modules if name.startswith("agent.")} == {
        "agent.__main__",
        "agent.ui",
        "agent.ui.cli",
        "agent.ui.command_table",
        "agent.ui.environment",
    }
    assert "click" in modules
    assert not modules & {"asyncio", "pydantic", "anyio", "rich", "prompt_toolkit", "pathlib"}


def test_a_single_answer_draws_no_terminal(tmp_path: Path) -> None:
    modules = imported(["-p", "hello", "-m", "mock/demo", "--no-servers"], tmp_path)
    assert not modules & {"rich", "prompt_toolkit", "starlette", "uvicorn", "openai", "anthropic"}


def test_the_program_tells_its_version(tmp_path: Path) -> None:
    with program(["--version"], tmp_path) as process:
        assert process.communicate(timeout=20) == (f"mcp-chat {__version__}\n".encode(), b"")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_leaves_a_result_and_closes_the_servers(tmp_path: Path, number: signal.Signals, code: int) -> None:
    argv = ["-m", "mock/demo", "-s", "demo=bundled:demo", "-y", "-o", "jsonl", "-p", "run long_task for 60 seconds"]
    with program(argv, tmp_path) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line))
            if lines[-1]["type"] == "tool_progressed" or lines[-1]["type"] == "tool_started":
                process.send_signal(number)
        assert process.wait(timeout=20) == code
        result = lines[-1]
        assert (result["type"], result["stop"]) == ("result", "interrupted")
        assert [call["is_error"] for call in result["tool_calls"]] == [True]
        assert lines[-2] == {**lines[-2], "type": "server_changed", "name": "demo", "state": "stopped"}
        assert process.stderr
        assert b"Traceback" not in process.stderr.read()


def test_interrupted_with_text_output_it_says_so_in_a_word(tmp_path: Path) -> None:
    argv = [*script(tmp_path, "[[turn]]\nwait = 60\n"), "-v", "-s", "demo=bundled:demo", "-p", "go"]
    with program(argv, tmp_path, stdout=subprocess.DEVNULL) as process:
        wait_for_child(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said.splitlines()[-1]) == (130, b"Interrupted.")
        assert b"Traceback" not in said


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_ends_a_call_by_hand_and_closes_the_servers(tmp_path: Path, number: signal.Signals, code: int) -> None:
    trace = tmp_path / "t.jsonl"
    argv = ["-s", "demo=bundled:demo", "--trace", str(trace), "call", "long_task", "seconds=60", "steps=600"]
    with program(argv, tmp_path) as process:
        wait_for_child(process)
        [child] = children(process)
        wait_until(process, lambda: trace.exists() and "notifications/progress" in trace.read_text())
        process.send_signal(number)
        out, said = process.communicate(timeout=20)
        assert (process.returncode, out, said) == (code, b"", b"Interrupted.\n")
        assert not Path(f"/proc/{child}").exists()


def wait_for_child(process: subprocess.Popen[bytes]) -> None:
    """Until the program has started a server, so that it listens to signals."""
    wait_until(process, lambda: children(process))


def wait_until(process: subprocess.Popen[bytes], holds: Callable[[], object]) -> None:
    """Look now and then, and leave the processor to the program meanwhile."""
    while not holds():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)


def children(process: subprocess.Popen[bytes]) -> list[str]:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    answer = "a line of the answer\n" * 10_000
    turns = f"[[turn]]\ntext = '''{answer}'''\n"
    with program([*script(tmp_path, turns), "-o", "jsonl", "-p", "go"], tmp_path) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == b""


def test_a_stdin_that_says_nothing_is_left_alone_after_a_while(tmp_path: Path) -> None:
    with program(["-m", "mock/demo", "--no-servers", "-p", "hi"], tmp_path, stdin=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read().startswith(b"(mock)")
        assert process.stderr.read().startswith(b"Nothing came in on stdin for 3 s")


ECHO = "-p 'echo hi' -m mock/demo -y"
HI = "-c config.toml -m mock/script -p hi"
HELLO = '[[turn]]\ntext = "Hello."\n'
FULL = b"The standard output cannot be written to: No space left on device.\n"


@pytest.mark.parametrize(
    ("line", "code", "out", "said"),
    [
        (f"{ECHO} <&-", 0, b"(mock) `echo` said: hi\n", b""),
        (f"{ECHO} 2>&-", 0, b"(mock) `echo` said: hi\n", b""),
        (f"{ECHO} >&-", 1, b"", b"The standard output is closed.\n"),
        (f"{ECHO} <&- >&- 2>&-", 1, b"", b""),
        (f"{HI} >/dev/full", 1, b"", FULL),
        (f"{HI} -o jsonl >/dev/full", 1, b"", FULL),
        ("-s demo=bundled:demo tools >/dev/full", 1, b"", FULL),
        ("demo -y >/dev/full", 1, b"", FULL),
        ("--help >/dev/full", 1, b"", FULL),
        ("--help >&-", 1, b"", b"The standard output is closed.\n"),
        ("--version >/dev/full", 1, b"", FULL),
        ("--version >&-", 1, b"", b"The standard output is closed.\n"),
    ],
)
def test_a_standard_stream_that_is_closed_or_full_is_no_fault_of_the_program(
    tmp_path: Path, line: str, code: int, out: bytes, said: bytes
) -> None:
    script(tmp_path, HELLO)
    with program_in_shell(line, tmp_path) as process:
        assert (*process.communicate(timeout=30), process.returncode) == (out, said, code)


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", b"?? \xe9"), ("ascii", b"?? ?")])
def test_what_the_encoding_of_the_output_lacks_is_replaced(tmp_path: Path, encoding: str, shown: bytes) -> None:
    script(tmp_path, '[[turn]]\ntext = "\u65e5\u672c \u00e9"\n')
    with program_in_shell(HI, tmp_path, PYTHONIOENCODING=encoding) as process:
        assert process.communicate(timeout=30) == (shown + b"\n", b"")


def test_a_working_folder_that_is_gone_is_said_so_and_no_fault_of_the_program(tmp_path: Path) -> None:
    with program_in_shell(ECHO, tmp_path, before="mkdir gone; cd gone; rmdir ../gone; ") as process:
        out, said = process.communicate(timeout=30)
        assert (out, process.returncode) == (b"", 2)
        assert said.splitlines()[-1] == b"The working folder is gone or closed to you: change to another one."


@contextmanager
def program_in_shell(line: str, cwd: Path, before: str = "", **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    folders = {"MCP_CHAT_CONFIG_DIR": str(cwd / "config"), "MCP_CHAT_DATA_DIR": str(cwd / "data")}
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    with subprocess.Popen(
        ["/bin/sh", "-c", f'{before}exec "{sys.executable}" -m agent {line}'],
        cwd=cwd,
        env={**kept, **folders, "PYTHONPATH": os.getcwd(), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        terminal.close()


def test_a_single_answer_at_a_terminal_asks_its_questions_there(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(["-m", "mock/demo", "-p", "book a seat on ICE 5"], tmp_path))
    terminal.wait_for("Run demo/book_seat?")
    terminal.type("y")
    terminal.wait_for("Which seat on ICE 5?")
    terminal.type("aisle\r\r\r")
    assert terminal.wait_for_exit() == 0
    assert terminal.rows == ["(mock) `book_seat` said: Booked on ICE 5: aisle, without a meal."]


def test_a_question_at_a_terminal_can_be_cancelled_with_ctrl_c(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(["-m", "mock/demo", "-p", "add 3 and 5"], tmp_path))
    terminal.wait_for("Run demo/add?")
    terminal.type("\x03")
    assert terminal.wait_for_exit() == 130
    assert "Traceback" not in terminal.text
