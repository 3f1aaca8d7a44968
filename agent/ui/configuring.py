"""The configuration of a run, after the user was asked for consent to the commands of a project's file."""

from __future__ import annotations

import anyio

from agent.host.config.config import Config, Consent, agree, resolve
from agent.host.options import Options
from agent.ui.environment import Environment
from agent.ui.escapes import clean, spell


def configure(options: Options, environment: Environment, *, ask: bool, draft: list[str] | None = None) -> Config:
    """Resolve the configuration, asking for consent if needed. `draft` holds text typed so far; it is updated with text
    that is typed while the question is shown and does not answer it.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    config = resolve(options, environment.environ, environment.folder)
    if config.consent is None:
        return config
    if not ask:
        environment.say(
            f"The servers of {clean(str(config.consent.path))} are left out: nobody has agreed to their commands yet. "
            "Start mcp-chat in a terminal to be asked, or name the file with -c."
        )
        return config
    if not _agrees(config.consent, environment, draft):
        return config
    try:
        agree(config.consent)
    except OSError as error:
        environment.say(
            f"This holds for now; it cannot be remembered: {error.strerror}: {config.consent.remembered_in}"
        )
    return resolve(options, environment.environ, environment.folder, config.consent)


def _agrees(consent: Consent, environment: Environment, draft: list[str] | None) -> bool:
    from agent.ui.dialogues import Choosing, yes_or_no
    from agent.ui.terminal.asking import ask_beside

    asked = Choosing(
        f"{spell(str(consent.path))} wants to use this. Agree?",
        "\n".join(map(_entry, consent.lines)),
        yes_or_no("yes, and remember it", "no, go on without"),
    )
    return anyio.run(ask_beside, asked, environment, draft).verdict == "accept"


def _entry(line: str) -> str:
    """A line of the file with every invisible character shown. Line breaks are indented, so none can fake an entry."""
    return spell(line).replace("\n", "\n    ")
