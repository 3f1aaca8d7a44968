"""Events as JSON lines, unabridged."""

from __future__ import annotations

import re
import time
from dataclasses import fields, is_dataclass
from typing import Any, TextIO

from pydantic_core import to_json

from agent.chat.events import Event
from agent.ui.escapes import UNSEEN


def record(value: Any) -> Any:
    """`value` as JSON data: a dataclass becomes an object whose `type` is its class name in snake case."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": _snake(type(value).__name__)} | {
            item.name: record(getattr(value, item.name)) for item in fields(value)
        }
    if isinstance(value, dict):
        return {key: record(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [record(item) for item in value]
    return value


def json_line(value: Any) -> str:
    """`value` as one line of JSON. Control and invisible characters are written as the equivalent `\\uXXXX`."""
    text = to_json(value, inf_nan_mode="null").decode()
    return UNSEEN.sub(_escaped, text)


class JsonLines:
    """Prints every event as it happens: `{"type": "tool_started", "time": SECONDS_SINCE_EPOCH, …}`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        kind, *rest = record(event).items()
        self._out.write(json_line(dict([kind, ("time", round(time.time(), 3)), *rest])) + "\n")
        self._out.flush()


def _escaped(found: re.Match[str]) -> str:
    """The JSON escape of a character: one `\\uXXXX`, or two beyond U+FFFF."""
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
