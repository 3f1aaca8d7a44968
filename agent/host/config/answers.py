"""Files with predefined answers to elicitation: JSON objects by server, then by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.host.config.errors import ConfigError
from agent.host.config.json import parse_jsonc

Answers = dict[str, dict[str, dict[str, Any]]]
"""By the file's path, then by server, then by field."""


def read_answers(path: Path) -> dict[str, dict[str, Any]]:
    """
    Raises:
        ConfigError: the file cannot be read or has another structure.
    """
    try:
        data = parse_jsonc(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} (answers to servers' questions) cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} (answers to servers' questions) is not valid JSON: {error}.") from error
    if not isinstance(data, dict) or not all(isinstance(fields, dict) for fields in data.values()):
        raise ConfigError(
            f"{path} must be a JSON object that holds, for each server, an object of its fields' answers."
        )
    return data
