"""The command `config check`: the errors in the configuration, and warnings about risky settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.host.config.config import Config
from agent.host.config.warnings import warnings
from agent.ui.environment import Environment
from agent.ui.escapes import clean
from agent.ui.exit_codes import ExitCode

if TYPE_CHECKING:
    from agent.ui.cli import Invocation


def check(config: Config, invocation: Invocation, environment: Environment) -> ExitCode:
    """Print errors and warnings to stdout, one a line. An error, unlike a warning, makes the exit code 2."""
    if invocation.arguments != ("check",):
        environment.say(f"There is no command 'config {invocation.arguments[0]}'. There is: config check.")
        return ExitCode.USAGE
    faults = [f"{entry.kind} {entry.name} is left out: {entry.reason}" for entry in config.disabled]
    unwise = [*config.notices, *warnings(config)]
    for line in (*faults, *unwise):
        environment.stdout.write(f"{clean(config.mask(line))}\n")
    count = len(config.servers)
    said = (
        f"{count} server{'s' * (count != 1)}, {len(faults)} left out, {len(unwise)} warning{'s' * (len(unwise) != 1)}"
    )
    environment.stdout.write(f"{said}; the model is {clean(config.model)}.\n")
    environment.stdout.flush()
    return ExitCode.USAGE if faults else ExitCode.ANSWERED
