"""Data kept between runs: JSON objects in the data folder, each file replaced atomically."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.host.config.models import ServerTable


def read(path: Path) -> dict[str, Any]:
    """The object in the file; empty if the file is missing or damaged."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Replace the file atomically, readable for its owner only.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # created with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Memory:
    """One such file, cached, and read again only after it has been replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._data: Mapping[str, Any] = {}

    def read(self) -> Mapping[str, Any]:
        """The current object."""
        seen = _version(self._path)
        if seen != self._seen:
            self._seen, self._data = seen, read(self._path)
        return self._data

    def write(self, data: Mapping[str, Any]) -> None:
        """As the function `write`."""
        write(self._path, data)


def _version(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def identity(server: str, table: ServerTable | None) -> str:
    """The key for a server's permissions: with another command under the same name it is another key."""
    way = [table.argv, table.cwd, table.url] if table else []
    return hashlib.sha256(json.dumps([server, way]).encode("utf-8", "surrogatepass")).hexdigest()
