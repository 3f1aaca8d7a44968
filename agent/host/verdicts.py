"""The protocol revision that each server was found to speak, kept between runs so that it need not be probed again."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from agent.host import remembered

KEPT = 500  # servers


class Verdicts:
    """Keys are command lines or URLs. They may contain secrets, so only digests of them are written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> str | None:
        """The revision found last; None if unknown."""
        revision = remembered.read(self._path).get(_digest(key))
        return revision if isinstance(revision, str) else None

    def set(self, key: str, revision: str) -> None:
        """Record it if possible; otherwise the server is only probed again in the next run."""
        known = remembered.read(self._path)
        if known.get(_digest(key)) == revision:
            return
        known.pop(_digest(key), None)
        newest = dict(list(known.items())[1 - KEPT :]) | {_digest(key): revision}
        with suppress(OSError):
            remembered.write(self._path, newest)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
