"""Server lists in other hosts' format: JSON with comments and trailing commas, under `mcpServers` or `servers`."""

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
"""The keys with the same meaning in every host; other keys are ignored."""


def parse_jsonc(text: str) -> Any:
    """Parse JSON with comments and trailing commas; strings are not changed.

    Raises:
        ValueError: a syntax error, with its line and what was expected there.
    """
    plain = _COMMENT.sub(lambda match: match[1] or _blank(match[0]), text.removeprefix("\ufeff"))
    return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", plain))


def read_jsonc(path: Path, what: str = "") -> Any:
    """The content of a JSON file; `what` says in errors what the file is for.

    Raises:
        ConfigError: the file cannot be read, or is not JSON.
    """
    subject = f"{path} ({what})" if what else f"{path}"
    try:
        return parse_jsonc(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{subject} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{subject} is not valid JSON: {error}.") from error


def _blank(comment: str) -> str:
    """Replace a comment by its line breaks, so that errors have the right line number."""
    return " " + "\n" * comment.count("\n")


def read_servers(path: Path) -> tuple[str, dict[str, Any]]:
    """The key under which a file lists its servers, and their tables, not yet validated.

    Raises:
        ConfigError: the file cannot be read or has no servers.
    """
    data = read_jsonc(path)
    for key in ("mcpServers", "servers"):
        if isinstance(data, dict) and isinstance(data.get(key), dict):
            return key, data[key]
    raise ConfigError(f"{path} has no servers: it needs an object named mcpServers (or servers) at its top.")


def own_keys(entry: Any) -> Any:
    """Another host's entry without the keys that only that host understands; null is treated as absent.

    If it has no key that says how to reach the server, a likely misspelling of one is kept, so that it is reported.
    """
    if not isinstance(entry, dict):
        return entry
    ours = {key: value for key, value in entry.items() if key in OURS and value is not None}
    meant = () if ours.keys() & {*WAYS} else (key for key in entry if closest(key, WAYS))
    return ours | {key: entry[key] for key in meant if entry[key] is not None}
