"""Warnings about a valid but insecure configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.host.config.config import Config
from agent.host.config.values import url_secrets
from agent.host.transports import PLAIN, is_readable_on_the_way
from agent.providers.registry import SHORTEST_SECRET

_OPTION = re.compile(r"--?([\w-]+)(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"(\w+)=(.+)", re.DOTALL)
_HEADER = re.compile(r"([\w-]+):\s*(.+)", re.DOTALL)
_NAME = re.compile(
    r"(?:.*[-_])?(?:api-?key|key|token|secret|pass(?:word|wd|phrase)?|auth(?:orization)?|credentials?|cookie|pat|bearer)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"\b(?:[sr]k[-_][\w-]{16,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{10,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
)
"""Prefixes of API keys of well-known services."""
_HARMLESS = re.compile(r"(?i:true|false|none|null|auto|basic|bearer|oauth2?|env|file|stdin)|[./~].*|[A-Z_]+|\d{1,6}")


def warnings(config: Config) -> Iterator[str]:
    """A sentence for each secret that other users can see, and for each URL with unencrypted traffic."""
    for name, table in config.servers.items():
        if table.url is not None:
            yield from (f"servers.{name}.url: {sentence}" for sentence in _of_url(table.url))
        for shown in visible_secrets(table.args, config.secrets):
            yield (
                f"servers.{name}.args: {shown} looks like a secret, and the process list shows it to everybody on this "
                'machine. Put it into env = { NAME = "${NAME}" } and let the server read it there.'
            )


def _of_url(url: str) -> Iterator[str]:
    if url_secrets(url):
        yield 'A secret in it ends up in logs. Put it into headers = { Authorization = "Bearer ${NAME}" }.'
    if is_readable_on_the_way(url):
        yield PLAIN


def visible_secrets(args: Sequence[str], secrets: frozenset[str] = frozenset()) -> Iterator[str]:
    """The arguments that contain a secret, described without showing it. `secrets` are known secret values."""
    named = ""
    for position, argument in enumerate(args, 1):
        option = _OPTION.fullmatch(argument)
        if named and not option and _is_secret(argument):
            yield f"the argument after {named}"
        elif (found := _within(argument, secrets)) is not None:
            yield f"argument {position}{found}"
        named = argument if option and option[2] is None and _NAME.fullmatch(option[1]) else ""


def _within(argument: str, secrets: frozenset[str]) -> str | None:
    """Where in an argument there is a secret, as the end of a phrase; None if there is none."""
    for form in (_OPTION, _ASSIGNED, _HEADER):
        if (said := form.fullmatch(argument)) and said[2] and _NAME.fullmatch(said[1]) and _is_secret(said[2]):
            return f" ({said[1]})"
    known = any(len(secret) >= SHORTEST_SECRET and secret in argument for secret in secrets)
    if known or _KEY.search(argument) or ("://" in argument and url_secrets(argument)):
        return ""
    return None


def _is_secret(value: str) -> bool:
    return len(value) >= SHORTEST_SECRET and not _HARMLESS.fullmatch(value)
