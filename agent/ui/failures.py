"""Errors that prevent a run from starting, mapped to an exit code and an error kind."""

from __future__ import annotations

from agent.chat.provider import ProviderError
from agent.host.config.config import ConfigError
from agent.host.errors import HostError
from agent.ui.exit_codes import ExitCode

Failure = ConfigError | ProviderError | HostError


def failure_code(error: Failure) -> ExitCode:
    match error:
        case ConfigError():
            return ExitCode.USAGE
        case ProviderError():
            return ExitCode.FAILED
        case HostError():
            return ExitCode.SERVER_MISSING


def failure_kind(error: Failure) -> str:
    match error:
        case ConfigError():
            return "config"
        case ProviderError(kind=kind):
            return kind
        case HostError():
            return "server"
