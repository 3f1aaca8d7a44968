"""Files with predefined answers to elicitation: JSON objects by server, then by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.host.config.errors import ConfigError
from agent.host.config.json import read_jsonc

Answers = dict[str, dict[str, dict[str, Any]]]
"""By the file's path, then by server, then by field."""


def read_answers(path: Path) -> dict[str, dict[str, Any]]:
    """
    Raises:
        ConfigError: the file cannot be read or has another structure.
    """
    data: Any = read_jsonc(path, "answers to servers' questions")
    if not isinstance(data, dict) or not all(isinstance(fields, dict) for fields in data.values()):
        raise ConfigError(
            f"{path} must be a JSON object that holds, for each server, an object of its fields' answers."
        )
    return data
