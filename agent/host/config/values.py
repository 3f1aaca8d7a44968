"""Processes values of a configuration file: expands variables, makes paths absolute, finds secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from agent.host.config.models import ANSWERS, ProviderTable, ServerTable
from agent.providers.registry import SHORTEST_SECRET

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential|cookie", re.IGNORECASE)
LONGEST_WORD = 16
"""A longer value in a URL's query (in characters) is treated as a secret, whatever its name."""


class UnsetVariable(ValueError):
    """A `${VAR}` without a value. The text names the key and the variable."""


def expand(value: Any, environ: Mapping[str, str], where: str) -> Any:
    """Expand `${VAR}` and `${VAR:-default}` in every string of `value`, once: expanded text is not expanded again.

    Raises:
        UnsetVariable: naming the key (`where` and its path below) and the variable.
    """
    if isinstance(value, dict):
        return {key: expand(item, environ, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [expand(item, environ, f"{where}.{index}") for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def fill(reference: re.Match[str]) -> str:
        name, has_default, default = reference[1].removeprefix("env:").partition(":-")
        if has_default:
            return environ.get(name) or default
        if name not in environ:
            raise UnsetVariable(f"{where}: the environment variable {name} is not set.")
        return environ[name]

    return _REFERENCE.sub(fill, value)


def secret_variables(value: Any, environ: Mapping[str, str]) -> set[str]:
    """The values of all variables in `value` whose name suggests a secret."""
    if isinstance(value, dict):
        return set().union(*(secret_variables(item, environ) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(secret_variables(item, environ) for item in value))
    if not isinstance(value, str):
        return set()
    names = (reference[1].removeprefix("env:").partition(":-")[0] for reference in _REFERENCE.finditer(value))
    return {environ[name] for name in names if name in environ and _SECRET_NAME.search(name)}


def secrets_of(table: ServerTable | ProviderTable) -> set[str]:
    """All secrets in `table`: keys, header values, secret variables, parts of URLs."""
    values: dict[str, SecretStr] = dict(table.headers)
    address = table.url if isinstance(table, ServerTable) else table.base_url
    if isinstance(table, ServerTable):
        values |= {name: value for name, value in table.env.items() if _SECRET_NAME.search(name)}
        if table.oauth.client_secret is not None:
            values["client_secret"] = table.oauth.client_secret
    elif table.api_key is not None:
        values["api_key"] = table.api_key
    found = {value.get_secret_value() for value in values.values()}
    found |= {value.rpartition(" ")[2] for value in found}  # "Bearer abc": the token alone is secret too
    return found | url_secrets(address or "")


def url_secrets(url: str) -> set[str]:
    """Credentials in a URL, and query values that are likely to be secret: as written, and decoded."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    credentials = parts.netloc.rpartition("@")[0]
    found = {credentials, credentials.partition(":")[2]}
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if _SECRET_NAME.search(name):
            found |= {pair, value}  # the pair too, as short values are not masked by themselves
        elif len(value) > LONGEST_WORD:
            found.add(value)
    return {form for text in found for form in (text, unquote(text)) if form}


def mask(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret masked; the longest first, as one may be a part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


def absolute(path: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))


def anchor_server(table: ServerTable, folder: Path) -> ServerTable:
    """Resolve a server's paths against the folder of its file; a plain program name is looked up on the PATH."""
    changes: dict[str, Any] = {"roots": tuple(str(absolute(root, folder)) for root in table.roots)}
    if table.cwd is not None:
        changes["cwd"] = str(absolute(table.cwd, folder))
    if table.oauth.private_key is not None:
        key = str(absolute(table.oauth.private_key, folder))
        changes["oauth"] = table.oauth.model_copy(update={"private_key": key})
    if table.command is not None and ("/" in table.command or os.sep in table.command):
        changes["command"] = str(absolute(table.command, folder))
    if table.elicitation is not None:
        changes["elicitation"] = anchor_answers(table.elicitation, folder)
    return table.model_copy(update=changes)


def anchor_provider(table: ProviderTable, folder: Path) -> ProviderTable:
    if table.script is None:
        return table
    return table.model_copy(update={"script": str(absolute(table.script, folder))})


def anchor_answers(answer: str, folder: Path) -> str:
    return answer if answer in ANSWERS else str(absolute(answer, folder))
