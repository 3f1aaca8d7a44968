"""The exit codes of the program."""

from __future__ import annotations

from enum import IntEnum

from agent.chat.messages import Stop


class ExitCode(IntEnum):
    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    SERVER_MISSING = 3
    LIMIT = 4
    HANGUP = 129
    INTERRUPTED = 130
    TERMINATED = 143


def exit_code(stop: Stop | None) -> ExitCode:
    """The exit code for a turn that ended with `stop`; None, for a turn that did not end, counts as interrupted."""
    match stop:
        case Stop.END | Stop.REFUSAL:
            return ExitCode.ANSWERED
        case Stop.ERROR:
            return ExitCode.FAILED
        case Stop.INTERRUPTED | None:
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.LIMIT
