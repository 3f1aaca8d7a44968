"""Text that a user typed into a form field, parsed to the JSON value of the field's schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from pydantic_core import from_json

from agent.host.form_rules import compiled
from agent.ui.forms import FORMAT_HINTS, Field, Kind, bound, bounds

_PATTERN_STEPS = 1_000_000
"""The approximate limit of matching steps: a bad pattern takes exponential time, and would block the program."""
_NESTED_LIMIT = 20
"""The longest answer, in characters, that a pattern with repeated groups is tried on."""


class InvalidEntry(ValueError):
    """The text does not fit the field; the message is a sentence for the user."""


def parse(field: Field, text: str) -> Any:
    """The JSON value for `text`, or None where an optional field is left empty.

    Raises:
        InvalidEntry: says what would be right.
    """
    if not text.strip():
        return _nothing(field)
    return _PARSERS[field.kind](field, text)


def _nothing(field: Field) -> Any:
    if field.kind == "choices" and field.required:
        return _counted(field, [])
    if field.required:
        raise InvalidEntry("This one is needed.")
    return None


def _text(field: Field, text: str) -> str:
    wanted = str(field.rules.get("format"))
    text = text.strip() if wanted in _FORMATS else text
    shortest, longest = bound(field, "minLength"), bound(field, "maxLength")
    if shortest is not None and len(text) < shortest:
        raise InvalidEntry(f"At least {shortest:g} characters, please.")
    if longest is not None and len(text) > longest:
        raise InvalidEntry(f"At most {longest:g} characters, please: these are {len(text)}.")
    if wanted in _FORMATS and not _FORMATS[wanted](text):
        raise InvalidEntry(f"That is not {FORMAT_HINTS[wanted]}.")
    pattern = field.rules.get("pattern")
    if isinstance(pattern, str) and _matches(pattern, text) is False:
        raise InvalidEntry(f"It has to match the pattern {pattern}")
    return text


def is_unchecked(field: Field, value: Any) -> bool:
    """Whether the field's pattern could not be applied to `value` here; the server validates it in any case."""
    pattern = field.rules.get("pattern")
    return field.kind == "text" and isinstance(pattern, str) and _matches(pattern, str(value)) is None


def _matches(pattern: str, text: str) -> bool | None:
    """None where it cannot be decided: the pattern has another regex dialect, or matching could take too long."""
    if len(text) > _limit(pattern) or (tried := compiled(pattern)) is None:
        return None
    try:
        return tried.search(text) is not None
    except RecursionError:
        return None


def _limit(pattern: str) -> int:
    """The longest text that the pattern is tried on, in characters; it shrinks with each repetition operator."""
    repeats = len(re.findall(r"[*+?{]", pattern))
    longest = int(_PATTERN_STEPS ** (1 / max(1, repeats)))
    groups = len(re.findall(r"\)[*+?{]", pattern))
    return min(longest, _NESTED_LIMIT // groups) if groups else longest


def _integer(field: Field, text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,300}", text.strip()):
        raise InvalidEntry("A whole number, please, such as 7.")
    value = int(text)
    _within(field, value)
    return value


def _number(field: Field, text: str) -> int | float:
    text = text.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,300}", text):
        value: int | float = int(text)
    elif re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) and math.isfinite(float(text)):
        value = float(text)
    else:
        raise InvalidEntry("A number, please, such as 3.5.")
    _within(field, value)
    return value


def _within(field: Field, value: float) -> None:
    lowest, highest = bound(field, "minimum"), bound(field, "maximum")
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        raise InvalidEntry(f"It has to be {bounds(field)}.")


def _boolean(field: Field, text: str) -> bool:
    word = text.strip().lower()
    if word in ("y", "yes", "true", "on", "1"):
        return True
    if word in ("n", "no", "false", "off", "0"):
        return False
    raise InvalidEntry("Yes or no, please.")


def _choice(field: Field, text: str) -> Any:
    word = text.strip()
    if field.numbered and word.isdecimal() and len(word) < 6 and 1 <= int(word) <= len(field.choices):
        return field.choices[int(word) - 1].value
    names = [(name, choice.value) for choice in field.choices for name in (choice.title, str(choice.value))]
    exact = [value for name, value in names if name == word]
    alike = [value for name, value in names if name.lower() == word.lower()]
    if exact or alike:
        return (exact or alike)[0]
    raise InvalidEntry(f"Please choose {'a number or ' if field.numbered else ''}one of the names above.")


def _several(field: Field, text: str) -> list[Any]:
    """Numbers may be separated by blanks or commas, names only by commas, because names may contain blanks."""
    is_numbers = field.numbered and all(part.isdecimal() for part in text.replace(",", " ").split())
    chosen: list[Any] = []
    for part in text.replace(",", " ").split() if is_numbers else filter(None, map(str.strip, text.split(","))):
        value = _choice(field, part)
        if value not in chosen:
            chosen.append(value)
    return _counted(field, chosen)


def _counted(field: Field, chosen: list[Any]) -> list[Any]:
    fewest, most = bound(field, "minItems"), bound(field, "maxItems")
    if fewest is not None and len(chosen) < fewest:
        raise InvalidEntry(f"Please choose at least {fewest:g}.")
    if most is not None and len(chosen) > most:
        raise InvalidEntry(f"Please choose at most {most:g}.")
    return chosen


def _json(field: Field, text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidEntry("That is not valid JSON.") from error


def _is_date(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and _parses(date.fromisoformat, text)


def _is_time(text: str) -> bool:
    shape = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
    return bool(re.fullmatch(shape, text)) and _parses(datetime.fromisoformat, text.upper())


def _parses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


_PARSERS: dict[Kind, Callable[[Field, str], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _several,
    "json": _json,
}
_FORMATS: dict[str, Callable[[str], bool]] = {
    "email": lambda text: bool(re.fullmatch(r"[^@\s]+@[^@\s]+", text)),
    "uri": lambda text: bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", text)),
    "date": _is_date,
    "date-time": _is_time,
}
