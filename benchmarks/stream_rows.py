"""A streamed answer in the terminal: for ten times the text at most twelve times the time is allowed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.driving import ROOT, ended
from benchmarks.measuring import Row, Spread, interleaved

SHORT, LONG = 20_000, 200_000  # characters
READY, END = b"no servers", "The-very-end."  # the first is in the status line, which is drawn once keys are read
PARAGRAPH = "A *paragraph* of an answer that a model might write, with `code` and **words** in it.\n\n"
CONFIG = """
[chat]
model = "mock/script"
[providers.mock]
script = "script.toml"
"""
SECONDS = 120


def streamed(rounds: int) -> Iterator[Row]:
    contenders = {str(size): partial(answer_seconds, size) for size in (SHORT, LONG)}
    found = {name: Spread.of(spent) for name, spent in interleaved(contenders, max(1, rounds // 3)).items()}
    long, short = found[str(LONG)], found[str(SHORT)]
    yield Row("terminal, answer of 200 KB", "s", long, "20 KB", short, 12)


def answer_seconds(size: int) -> float:
    """From sending the prompt to the last word on the screen, in a new chat."""
    with TemporaryDirectory() as home, chat(Path(home), size) as terminal:
        _read_until(terminal, READY)
        started = time.perf_counter()
        os.write(terminal, b"go\r")
        _read_until(terminal, END.encode())
        return time.perf_counter() - started


@contextmanager
def chat(home: Path, size: int) -> Iterator[int]:
    """A chat whose model answers with that much text. Yields the terminal it runs in."""
    text = PARAGRAPH * (size // len(PARAGRAPH)) + END
    (home / "script.toml").write_text(f"[[turn]]\ntext = '''{text}'''\n")
    (home / "chat.toml").write_text(CONFIG)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "agent", "-c", str(home / "chat.toml"), "--no-servers"]
    environment = {**os.environ, "HOME": str(home), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        yield ours
    finally:
        ended(process)
        os.close(ours)


def _read_until(terminal: int, words: bytes) -> None:
    seen = b""
    deadline = time.monotonic() + SECONDS
    while words not in seen:
        if not select.select([terminal], [], [], deadline - time.monotonic())[0]:
            raise TimeoutError(f"{words!r} was not on the screen within {SECONDS} seconds")
        seen = seen[-len(words) :] + os.read(terminal, 65_536)
