"""The program `mcp-chat`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Answers --version before anything is imported. Returns the exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        from agent import __version__

        sys.stdout.write(f"mcp-chat {__version__}\n")
        return 0
    try:
        return _run(argv)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return 130


def _run(argv: list[str]) -> int:
    gc.disable()  # nothing that is imported is garbage, and looking for some would be felt in --help
    from agent.ui.cli import run
    from agent.ui.environment import Environment

    gc.enable()
    try:
        code = run(argv, Environment.real())
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0
        _forget_stdout()
    return code


def _forget_stdout() -> None:
    """Nobody reads on: without this, the interpreter would complain when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
