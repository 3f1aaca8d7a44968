"""What is wrong with a configuration, said so that a person can put it right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, Literal

from pydantic import BaseModel, ValidationError


class ConfigError(Exception):
    """The configuration cannot be used. The text names the file and the key, and the nearest valid one."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """One entry that is left out, and the sentence that says why; everything else goes on without it."""

    kind: Literal["server", "provider"]
    name: str
    reason: str
    required: bool = False


def nearest(wrong: str, valid: Iterable[str]) -> str:
    """A hint to append to a sentence: the nearest valid name, else all of them."""
    names = sorted(valid)
    if close := get_close_matches(wrong, names, n=1, cutoff=0.5):
        return f" Did you mean {close[0]!r}?"
    return f" There are: {', '.join(names)}." if names else ""


def line_of(text: str, path: str) -> str:
    """Where a key or table stands in a TOML text, as " (line 3)"; nothing if that is not certain."""
    table, _, key = path.rpartition(".")
    lines = list(enumerate(text.splitlines(), 1))
    headers = [index for index, (_, line) in enumerate(lines) if line.strip().startswith(f"[{table}]")]
    if table and len(headers) == 1:
        following = lines[headers[0] + 1 :]
        lines = list(takewhile(lambda numbered: not numbered[1].lstrip().startswith("["), following))
    pattern = re.compile(rf"""^\s*\[?["']?{re.escape(key)}["']?\s*(?:=|\]|\.)""")
    found = [number for number, line in lines if pattern.match(line)]
    return f" (line {found[0]})" if len(found) == 1 else ""


def fault(model: type[BaseModel], where: str, error: ValidationError, text: str = "") -> str:
    """The first thing wrong with a table, as one sentence. `where` is the table's own path in its file."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join([*([where] if where else []), *map(str, first["loc"])])
    if first["type"] == "extra_forbidden":
        hint = nearest(str(first["loc"][-1]), _keys(model, first["loc"][:-1]))
        return f"{path}{line_of(text, path)}: there is no such key.{hint}"
    return f"{path}{line_of(text, path)}: {first['msg'][0].lower()}{first['msg'][1:]}."


def _keys(model: type[BaseModel], loc: Sequence[Any]) -> list[str]:
    for part in loc:
        annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return list(model.model_fields)
