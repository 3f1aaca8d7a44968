"""Creates servers and providers from configuration entries and from `--server`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.host.config.errors import ConfigError, Disabled, fault
from agent.host.config.models import Kind, ProviderTable, ServerTable
from agent.host.config.values import UnsetVariable, absolute, anchor_provider, anchor_server, expand
from agent.mcp.exchange import masked

_NAMED = re.compile(r"([A-Za-z0-9_-]+)=(.*)", re.DOTALL)
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of `[servers]` or `[providers]`, as written in its file. `where` is its path there."""

    name: str
    raw: Any
    where: str
    source: Path
    text: str = ""
    project: bool = False

    @property
    def kind(self) -> Literal["server", "provider"]:
        return "provider" if self.where.startswith("providers.") else "server"

    def disabled(self, reason: str) -> Disabled:
        required = isinstance(self.raw, dict) and self.raw.get("required") is True
        return Disabled(self.kind, self.name, f"{self.source}: {reason}", required)


def load_server(entry: Entry, environ: Mapping[str, str]) -> ServerTable | Disabled:
    """The server, or why it is disabled: an error in one entry only disables that entry."""
    if not entry.name or "/" in entry.name or not entry.name.isprintable():
        return entry.disabled(f"{entry.where}: a server's name may not be empty or hold '/' or control characters.")
    table = _load(ServerTable, entry, environ)
    if isinstance(table, Disabled):
        return table
    if not table.ways:
        return entry.disabled(f"{entry.where}.command: is missing; a server needs command, url or bundled.")
    if len(table.ways) > 1:
        return entry.disabled(f"{entry.where}: {' and '.join(table.ways)} exclude each other.")
    if table.url is not None and (objection := _objection(table.url)):
        return entry.disabled(f"{entry.where}.url: {objection}")
    if table.auth == "oauth" and table.url is None:
        return entry.disabled(f"{entry.where}.auth: only a server with a url can be signed in to.")
    if objection := table.oauth.objection:
        return entry.disabled(f"{entry.where}.oauth: {objection}")
    return anchor_server(table, entry.source.parent)


def load_provider(entry: Entry, environ: Mapping[str, str]) -> ProviderTable | Disabled:
    """The provider, or why it is disabled."""
    table = _load(ProviderTable, entry, environ)
    if isinstance(table, Disabled):
        return table
    if table.kind is None and entry.name not in get_args(Kind):
        return entry.disabled(f"{entry.where}.kind: is missing; it is one of {', '.join(get_args(Kind))}.")
    if table.base_url is not None and not _is_web_address(table.base_url):
        return entry.disabled(f"{entry.where}.base_url: is no address; write http://HOST or https://HOST.")
    return anchor_provider(table, entry.source.parent)


def _load(model: type[Any], entry: Entry, environ: Mapping[str, str]) -> Any:
    if not isinstance(entry.raw, dict):
        return entry.disabled(f"{entry.where}: must be a table.")
    try:
        return model.model_validate(expand(entry.raw, environ, entry.where))
    except UnsetVariable as error:
        return entry.disabled(str(error))
    except ValidationError as error:
        return entry.disabled(fault(model, entry.where, error, entry.text))


def parse_spec(spec: str, taken: Collection[str], cwd: Path) -> tuple[str, ServerTable]:
    """Parse `--server [NAME=]SPEC`: a `.py` file, a command line, a URL, or `bundled:NAME`.

    Raises:
        ConfigError: it is none of these.
    """
    named = _NAMED.fullmatch(spec)
    name, rest = (named[1], named[2]) if named else ("", spec)
    if not rest.strip():
        raise ConfigError(f"--server {spec!r} is empty: it needs a .py file, a command line, a URL, or bundled:NAME.")
    guess, raw = _read_spec(rest.strip(), cwd)
    if "url" in raw and (objection := _objection(raw["url"])):
        raise ConfigError(f"--server {masked(raw['url'])}: {objection}")
    try:
        table = ServerTable.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(f"--server {spec}: {fault(ServerTable, '', error)}") from error
    return name or _unique(_UNFIT.sub("-", guess).strip("-") or "server", taken), table


def _objection(url: str) -> str | None:
    """Why a URL is not accepted for a server; None if it is."""
    return None if _is_web_address(url) else "is no address of a server; write https://HOST/PATH."


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _read_spec(spec: str, cwd: Path) -> tuple[str, dict[str, Any]]:
    """A name, and the server table that SPEC stands for."""
    if spec.startswith("bundled:"):
        bundled = spec.removeprefix("bundled:")
        return bundled, {"bundled": bundled}
    if re.match(r"https?://", spec):
        return urlsplit(spec).hostname or "server", {"url": spec}
    try:
        program, *arguments = [spec] if (cwd / spec).is_file() else shlex.split(spec)
    except ValueError as error:
        raise ConfigError(f"--server {spec!r} is no command line: {error}.") from error
    if program.endswith(".py"):
        script = absolute(program, cwd)
        if not script.is_file():
            raise ConfigError(f"--server {spec}: there is no file {script}.")
        return Path(program).stem, {"command": sys.executable, "args": [str(script), *arguments]}
    command = str(absolute(program, cwd)) if "/" in program else program
    return Path(program).name, {"command": command, "args": arguments}


def _unique(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(other for other in numbered if other not in taken)
