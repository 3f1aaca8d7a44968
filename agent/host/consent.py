"""What a project's file may start: only what the person has seen and agreed to, remembered by path and digest."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent.host.config_models import ProviderTable, ServerTable

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Consent:
    """A question to the person: may these entries of `path` be used?

    `lines` show each of them exactly: a server's whole command line, where a model's key and words would be sent.
    """

    path: Path
    lines: tuple[str, ...]
    digests: tuple[str, ...]
    remembered_in: Path


def digest(kind: str, name: str, raw: Any) -> str:
    """What is agreed to: an entry as it stands in its file. Any change of it asks again."""
    return hashlib.sha256(json.dumps([kind, name, raw], sort_keys=True, default=str).encode()).hexdigest()


def describe_server(name: str, table: ServerTable, raw: Mapping[str, Any]) -> str:
    """The whole command line; its environment as the file has it, as the variables it names may be secret."""
    environment = "".join(f" {key}={shlex.quote(str(value))}" for key, value in (raw.get("env") or {}).items())
    folder = f" (in {table.cwd})" if table.cwd else ""
    return f"{name}:{environment} {shlex.join(table.argv)}{folder}"


def describe_provider(name: str, table: ProviderTable) -> str:
    return f"{name}: sends the conversation, and its API key if it has one, to {table.base_url}"


def leaves_this_machine(table: ProviderTable) -> bool:
    """Whether using this provider sends the conversation to a host that the file names."""
    return table.base_url is not None and urlsplit(table.base_url).hostname not in LOOPBACK


def agreed(remembered_in: Path, path: Path) -> frozenset[str]:
    """The digests of what the person agreed to in the file at `path`; a damaged memory is none."""
    remembered = _read(remembered_in).get(str(path), [])
    return frozenset(remembered) if isinstance(remembered, list) else frozenset()


def agree(consent: Consent) -> None:
    """Remember that the person agreed. The next `resolve` starts those servers.

    Raises:
        OSError: the memory cannot be written.
    """
    remembered = _read(consent.remembered_in)
    known = agreed(consent.remembered_in, consent.path)
    remembered[str(consent.path)] = sorted(known | set(consent.digests))
    _write(consent.remembered_in, json.dumps(remembered, indent=1))


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _write(path: Path, text: str) -> None:
    """All or nothing, and for the owner's eyes only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # created with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
