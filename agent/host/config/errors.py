"""Configuration errors, described so that a person can correct them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


_WANTED = {
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "string_type": "a text",
    "string_too_short": "a text, and not empty",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "literal_error": "{expected}",
}
"""What pydantic's error types mean, as text."""


class ConfigError(Exception):
    """The configuration is invalid. The text names the file and the key, and the nearest valid one."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """An entry that is left out, and a sentence that says why; everything else still works.

    `awaits_consent`: it is valid, but nobody has agreed to it yet.
    """

    kind: Literal["server", "provider"]
    name: str
    reason: str
    required: bool = False
    awaits_consent: bool = False


def closest(wrong: str, valid: Iterable[str]) -> str:
    """A suggestion to append to a sentence: the valid name that may have been meant, or empty."""
    names = {name.lower(): name for name in sorted(valid)}
    close = get_close_matches(wrong.lower(), names, n=1, cutoff=0.5)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def nearest(wrong: str, valid: Iterable[str]) -> str:
    """A suggestion to append to a sentence: the nearest valid name, else all of them."""
    names = sorted(valid)
    return closest(wrong, names) or (f" There are: {', '.join(names)}." if names else "")


def line_of(text: str, path: str) -> str:
    """The position of a key or table in a TOML text, as " (line 3)"; empty if it cannot be determined."""
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
    """What is invalid in a table, one sentence for each key. `where` is the table's own path in its file."""
    keys = 1 if where else 2  # at the top level, keys are within tables
    first_of_each = {fault["loc"][:keys]: fault for fault in reversed(error.errors(include_url=False))}
    return " ".join(_fault(model, where, one, text) for one in reversed(first_of_each.values()))


def _fault(model: type[BaseModel], where: str, one: ErrorDetails, text: str) -> str:
    path = ".".join([*([where] if where else []), *map(str, one["loc"])])
    if one["type"] == "extra_forbidden":
        hint = nearest(str(one["loc"][-1]), _keys(model, one["loc"][:-1]))
        return f"{path}{line_of(text, path)}: there is no such key.{hint}"
    return f"{path}{line_of(text, path)}: {_objection(one)}"


def _objection(error: ErrorDetails) -> str:
    """What is required, in terms of the file and not of the program. The value is not quoted, as it may be a secret."""
    wanted, bounds = _WANTED.get(error["type"]), error.get("ctx", {})
    if wanted is None:
        return f"{error['msg'][0].lower()}{error['msg'][1:]}."
    hint = closest(str(error["input"]), re.findall("'([^']*)'", bounds["expected"])) if "expected" in bounds else ""
    return f"must be {wanted.format(**bounds)}.{hint}"


def _keys(model: type[BaseModel], loc: Sequence[Any]) -> list[str]:
    for part in loc:
        annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return list(model.model_fields)
