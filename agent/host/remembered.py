"""Small things remembered between runs: JSON objects in the data folder, each file replaced as a whole."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    """What is remembered there; a missing or damaged file is an empty memory."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write(path: Path, data: Mapping[str, Any]) -> None:
    """All or nothing, and for the owner's eyes only.

    Raises:
        OSError: the memory cannot be written.
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
