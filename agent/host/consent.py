"""Consent to what a project's file would start, remembered by the file's path and a digest of each entry."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.host import remembered
from agent.host.config.models import ProviderTable, ServerTable
from agent.host.transports import is_local


@dataclass(frozen=True, slots=True)
class Consent:
    """A question to the person: may these entries of the file at `path` be used?

    `lines` describe each entry exactly: a server's whole command line, or where a key and messages would be sent.
    """

    path: Path
    lines: tuple[str, ...]
    digests: tuple[str, ...]
    remembered_in: Path


def digest(kind: str, name: str, raw: Any) -> str:
    """What the consent applies to: an entry as written in its file. After any change the person is asked again."""
    return hashlib.sha256(json.dumps([kind, name, raw], sort_keys=True, default=str).encode()).hexdigest()


def describe_server(name: str, table: ServerTable, raw: Mapping[str, Any]) -> str:
    """The whole command line or the URL; variables are shown unexpanded, as they may be secret."""
    if table.url is not None:
        headers = "".join(f", with {key}: {value}" for key, value in (raw.get("headers") or {}).items())
        return f"{name}: connects to {raw.get('url')}{headers}"
    environment = "".join(f" {key}={shlex.quote(str(value))}" for key, value in (raw.get("env") or {}).items())
    folder = f" (in {table.cwd})" if table.cwd else ""
    return f"{name}:{environment} {shlex.join(table.argv)}{folder}"


def describe_provider(name: str, table: ProviderTable) -> str:
    return f"{name}: sends the conversation, and its API key if it has one, to {table.base_url}"


def leaves_this_machine(table: ProviderTable) -> bool:
    """Whether this provider sends the conversation to a host that the file names."""
    return table.base_url is not None and not is_local(table.base_url)


def agreed(remembered_in: Path, path: Path) -> frozenset[str]:
    """The digests of the entries in the file at `path` that the person agreed to; none if the record is damaged."""
    digests = remembered.read(remembered_in).get(str(path), [])
    return frozenset(digests) if isinstance(digests, list) else frozenset()


def agree(consent: Consent) -> None:
    """Record that the person agreed. The next `resolve` starts those servers.

    Raises:
        OSError: the record cannot be written.
    """
    files = remembered.read(consent.remembered_in)
    known = agreed(consent.remembered_in, consent.path)
    files[str(consent.path)] = sorted(known | set(consent.digests))
    remembered.write(consent.remembered_in, files)
