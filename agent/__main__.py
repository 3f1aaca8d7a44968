"""The program `mcp-chat`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Answers --version before anything is imported. Returns the exit code."""
    argv = sys.argv[1:]
    _fill_closed_streams()
    if argv == ["--version"] and sys.stdout:
        return _tell_version()
    try:
        return _run(argv)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return 130


def _run(argv: list[str]) -> int:
    gc.disable()  # nothing that is imported is garbage, and looking for some would be felt in --help
    from agent.ui.cli import run
    from agent.ui.environment import Environment, OutputError

    gc.enable()
    environment = Environment.real()
    try:
        code = run(argv, environment)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0
        _forget_stdout()
    except OutputError as error:
        environment.say(str(error))
        code = 1
        _forget_stdout()
    return code


def _tell_version() -> int:
    from agent import __version__

    try:
        sys.stdout.write(f"mcp-chat {__version__}\n")
        sys.stdout.flush()
    except OSError as error:
        _forget_stdout()
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"The standard output cannot be written to: {error.strerror}.\n")
            return 1
    return 0


def _fill_closed_streams() -> None:
    """Else the next file to be opened would get the number of a standard stream, and what is written there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _forget_stdout() -> None:
    """Nobody reads on: without this, the interpreter would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main())
