"""Applies the command line options to the configuration, for this run only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.host.config.errors import ConfigError
from agent.host.config.models import ServerTable, Settings
from agent.host.config.values import anchor_answers
from agent.host.options import Options


def apply_options(settings: Settings, options: Options, cwd: Path) -> Settings:
    """
    Raises:
        ConfigError: a file named by an option cannot be read.
    """
    chat = {
        "system": _system(options.system, cwd),
        "max_turns": options.max_turns,
        "max_tokens": options.max_tokens,
        "timeout": options.timeout,
    }
    permissions = settings.permissions
    default = "allow" if options.yes and permissions.default != "deny" else permissions.default
    return settings.model_copy(
        update={
            "chat": settings.chat.model_copy(update=_given(chat)),
            "permissions": permissions.model_copy(
                update={
                    "default": default,
                    "allow": (*permissions.allow, *options.allow),
                    "deny": (*permissions.deny, *options.deny),
                }
            ),
            "sampling": settings.sampling.model_copy(update=_given({"approve": options.sampling})),
            "elicitation": settings.elicitation.model_copy(update=_given({"answer": _answer(options, cwd)})),
        }
    )


def apply_to_server(table: ServerTable, options: Options, cwd: Path) -> ServerTable:
    """A server's own prohibitions are kept; for everything else the command line overrides."""
    changes: dict[str, Any] = {}
    if options.sampling is not None and table.sampling != "deny":
        changes["sampling"] = options.sampling
    if options.elicit is not None and table.elicitation not in ("decline", "cancel"):
        changes["elicitation"] = _answer(options, cwd)
    return table.model_copy(update=changes)


def named_files(options: Options) -> tuple[str, ...]:
    """The options given that name files with servers."""
    config = ("-c", str(options.config)) if options.config else ()
    return (*config, *(word for path in options.mcp_config for word in ("--mcp-config", str(path))))


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _answer(options: Options, cwd: Path) -> str | None:
    return None if options.elicit is None else anchor_answers(options.elicit, cwd)


def _system(system: str | None, cwd: Path) -> str | None:
    if system is None or not system.startswith("@"):
        return system
    path = cwd / Path(system[1:]).expanduser()
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--system {system}: the file cannot be read.") from error
