"""Servers as real processes: their streams, their arguments, their exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.mcp.jsonrpc import Request, encode
from agent.mcp.server.process import HELP

PYTHON = [sys.executable, "-m", "servers.demo"]
NOISY = """
import os, subprocess, sys
from agent.mcp import Server
server = Server("noisy")

@server.tool
def shout(word: str) -> str:
    print("printed:", word)
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "print('child: spoke')"])
    return repr(sys.stdin.read()) + word

@server.tool
async def wait() -> None:
    import anyio
    await anyio.sleep_forever()

server.run()
"""


def lines(*requests: tuple[int, str, dict[str, Any] | None]) -> bytes:
    return b"".join(encode(Request(*request)) + b"\n" for request in requests)


def call(id: int, tool: str, **arguments: Any) -> tuple[int, str, dict[str, Any]]:
    return id, "tools/call", {"name": tool, "arguments": arguments}


def ran(command: list[str], given: bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=given, capture_output=True, timeout=20, check=False, **more)


def answers(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.splitlines()]


def script(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "server.py"
    path.write_text(text, encoding="utf-8")
    return [sys.executable, str(path)]


def test_a_line_pasted_by_hand_is_answered_before_the_end_of_input_ends_the_process() -> None:
    done = ran(PYTHON, lines(call(1, "add", a=3, b=5)).rstrip())
    assert answers(done.stdout) == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"content": [{"type": "text", "text": "8"}], "structuredContent": {"result": 8}},
        }
    ]
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_tool_prints_lands_on_stderr(tmp_path: Path) -> None:
    done = ran(script(tmp_path, NOISY), lines(call(1, "shout", word="hi")))
    assert [answer["result"]["content"][0]["text"] for answer in answers(done.stdout)] == ["''hi"]
    assert done.stderr.decode().splitlines() == ["printed: hi", "written", "child: spoke"]
    assert done.returncode == 0


@pytest.mark.parametrize("locale", [{"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}])
def test_the_wire_is_utf_8_whatever_the_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    text = "✓ — 日本 🎉"
    done = ran(script(tmp_path, NOISY), lines(call(1, "shout", word=text)), env=os.environ | locale)
    assert text.encode() in done.stdout or json.dumps(text)[1:-1].encode() in done.stdout
    assert answers(done.stdout)[0]["result"]["content"][0]["text"] == "''" + text
    assert b"Traceback" not in done.stderr


def test_stdin_may_be_a_file(tmp_path: Path) -> None:
    given = tmp_path / "requests"
    given.write_bytes(lines((1, "ping", None), (2, "ping", None)))
    with given.open("rb") as file:
        done = subprocess.run(PYTHON, stdin=file, capture_output=True, timeout=20, check=False)
    assert [answer["id"] for answer in answers(done.stdout)] == [1, 2]


def test_stdin_may_be_empty() -> None:
    done = subprocess.run(PYTHON, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_shutdown_and_exit_end_the_process_in_order() -> None:
    with subprocess.Popen(PYTHON, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines((10, "shutdown", None)) + b'{"jsonrpc":"2.0","method":"exit"}\n')
        process.stdin.flush()
        assert answers(process.stdout.read()) == [{"jsonrpc": "2.0", "id": 10, "result": {}}]
        assert process.wait(10) == 0


@pytest.mark.parametrize("busy", [False, True])
def test_an_interrupt_ends_quietly(tmp_path: Path, busy: bool) -> None:
    with subprocess.Popen(
        script(tmp_path, NOISY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write((lines(call(1, "wait")) if busy else b"") + lines((2, "ping", None)))
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr.read() == b""


def test_a_closed_stdout_ends_quietly() -> None:
    with subprocess.Popen(PYTHON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(lines((1, "ping", None)))
        process.stdin.flush()
        assert process.wait(10) == 0
        assert process.stderr.read() == b""


def test_a_person_at_a_terminal_is_told_what_to_do() -> None:
    master, terminal = pty.openpty()
    with subprocess.Popen(PYTHON, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"demo 1.0 waits for JSON-RPC, one message a line. Ctrl-D ends it.\n"
        os.write(master, lines((1, "ping", None)))
        assert answers(process.stdout.readline()) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
        os.write(master, b"\x04")
        assert process.wait(10) == 0
    os.close(master)
    os.close(terminal)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--http", "8000"], 2, "demo: --http needs HOST:PORT, such as 127.0.0.1:8000, and not 8000."),
        (
            ["--http", "localhost:70000"],
            2,
            "demo: --http needs HOST:PORT, such as 127.0.0.1:8000, and not localhost:70000.",
        ),
        (["--http"], 2, "demo: --http needs HOST:PORT after it."),
        (["--http", ":0", "--tls-cert"], 2, "demo: --tls-cert needs a FILE after it."),
        (["--http", ":0", "--tls-key", "key.pem"], 2, "demo: --tls-key needs --tls-cert."),
        (["--tls-cert", "cert.pem"], 2, "demo: --tls-cert is for --http HOST:PORT."),
        (["--allow-host", "a.example"], 2, "demo: --allow-host is for --http HOST:PORT."),
        (["--http", ":0", "--allow-origin"], 2, "demo: --allow-origin needs an ORIGIN after it."),
        (["--http", ":0", "--burst", "0"], 2, "demo: --burst needs a whole number of at least 1, and not 0."),
        (["--http", ":0", "--per-second", "x"], 2, "demo: --per-second needs a whole number of at least 1, and not x."),
        (
            ["--http", ":0", "--tls-cert", "gone.pem", "--tls-key", "key.pem"],
            2,
            "demo cannot start: gone.pem and key.pem cannot be used for TLS: [Errno 2] No such file or directory",
        ),
        (["--verbose"], 2, "demo: unknown argument --verbose; start it without arguments, or with --http HOST:PORT."),
        (
            ["--help"],
            0,
            HELP.format(name="demo").rstrip(),
        ),
    ],
)
def test_arguments_are_answered_with_a_sentence(arguments: list[str], code: int, words: str) -> None:
    done = ran([*PYTHON, *arguments], b"")
    assert (done.returncode, done.stdout, done.stderr.decode().strip()) == (code, b"", words)


@pytest.mark.parametrize(("redirection", "stream"), [("<&-", "stdin"), (">&-", "stdout")])
def test_a_missing_stream_is_named(redirection: str, stream: str) -> None:
    done = ran(["sh", "-c", f'"{sys.executable}" -m servers.demo {redirection}'], b"")
    assert (done.returncode, done.stderr.decode()) == (2, f"demo cannot start: {stream} is closed.\n")


def test_a_function_that_cannot_be_offered_is_named(tmp_path: Path) -> None:
    text = """
from agent.mcp import Server
server = Server("faulty")
@server.tool
def draw(where: "Nowhere") -> None: ...
server.run()
"""
    done = ran(script(tmp_path, text), b"")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(
        "faulty cannot start: draw: an annotation cannot be resolved (name 'Nowhere'"
    )
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["--http", "127.0.0.1:0"]])
def test_a_lifespan_that_cannot_begin_is_told_in_a_sentence(arguments: list[str], tmp_path: Path) -> None:
    text = """
from contextlib import asynccontextmanager
from agent.mcp import Server
@asynccontextmanager
async def database(server):
    raise ValueError("there is no database at db:5432")
    yield
Server("shop", lifespan=database).run()
"""
    done = ran([*script(tmp_path, text), *arguments], b"")
    *before, told = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert told == "shop cannot start: its lifespan raised ValueError: there is no database at db:5432"
    assert [line.partition("://")[0] for line in before] == ["http"] * bool(arguments)


def test_it_serves_http_where_it_says_and_ends_when_interrupted() -> None:
    command = [*PYTHON, "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        url = process.stderr.readline().decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        taken = ran([*PYTHON, "--http", url.removeprefix("http://").removesuffix("/mcp")], b"")
        process.send_signal(signal.SIGINT)
        assert (process.wait(10), process.stderr.read()) == (130, b"")
    assert taken.returncode == 2
    assert b"demo cannot start: " in taken.stderr
    assert b"address already in use" in taken.stderr.lower()
