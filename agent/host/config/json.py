"""Server lists of other hosts: JSON with comments and trailing commas, under `mcpServers` or `servers`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent.host.config.errors import ConfigError, closest

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)

WAYS = ("command", "url")
OURS = frozenset({*WAYS, "args", "env", "cwd", "headers"})
"""The keys that every host means alike. What else another host writes there is its own business."""


def parse_jsonc(text: str) -> Any:
    """JSON in which comments and trailing commas are allowed; strings stay as they are.

    Raises:
        ValueError: with the line and what was expected there.
    """
    plain = _COMMENT.sub(lambda match: match[1] or _blank(match[0]), text.removeprefix("\ufeff"))
    return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", plain))


def _blank(comment: str) -> str:
    """A comment leaves its line breaks behind, so that errors name the right line."""
    return " " + "\n" * comment.count("\n")


def read_servers(path: Path) -> tuple[str, dict[str, Any]]:
    """The key under which the servers stand in a file, and their tables, not yet looked into.

    Raises:
        ConfigError: where the file cannot be read or holds no servers.
    """
    try:
        data = parse_jsonc(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}.") from error
    for key in ("mcpServers", "servers"):
        if isinstance(data, dict) and isinstance(data.get(key), dict):
            return key, data[key]
    raise ConfigError(f"{path} has no servers: it needs an object named mcpServers (or servers) at its top.")


def own_keys(entry: Any) -> Any:
    """Another host's entry without what only that host understands; null is the same as absent.

    What looks like the way to reach it, misspelt, stays to be objected to, where there is no other.
    """
    if not isinstance(entry, dict):
        return entry
    ours = {key: value for key, value in entry.items() if key in OURS and value is not None}
    meant = () if ours.keys() & {*WAYS} else (key for key in entry if closest(key, WAYS))
    return ours | {key: entry[key] for key in meant if entry[key] is not None}
