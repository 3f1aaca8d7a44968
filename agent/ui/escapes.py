"""Escape text from servers and models for a terminal, so that it cannot move the cursor, colour, hide or overwrite.

`clean` is for text to be read: control sequences without text, such as a colour, are removed. `spell` is for text that
the user decides on: nothing is removed. Other invisible characters are shown by a symbol or by their code point.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from itertools import groupby
from typing import Any, TypeVar, cast
from unicodedata import category

Value = TypeVar("Value")

_LONGEST = 4096
"""Characters of an unfinished sequence held back while streaming; a longer one is shown instead."""

# The model sees the payload of a control string (a window title, a link), so it is kept and its delimiters are shown.
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
_SHORT = r"\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ`-~]"
_SEQUENCE = re.compile(f"{_CSI}|{_SHORT}")
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[ -/]*)|\x9b[0-?]*[ -/]*|\r)\Z")
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
# Without U+200C and U+200D: Persian, Indic scripts and emoji need them.
_INVISIBLES = r"\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_HIDDEN = re.compile(rf"([{_INVISIBLES}])\1*")
UNSEEN = re.compile(f"[{_CONTROLS}{_INVISIBLES}]")
"""A control or invisible character, other than newline and tab."""

_TEXT = {"\n", "\t"}
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]))
)
"""Letters and marks, by their Unicode category, that draw nothing."""


def clean(text: str) -> str:
    """`text` without control sequences; of the C0 characters only newline and tab remain."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")
    return _HIDDEN.sub(_named, _CONTROL.sub(_pictured, text))


def spell(text: str) -> str:
    """`text` with every character that draws nothing shown by name, so that the user sees exactly what is approved."""
    if text.isascii() and text.isprintable():
        return text
    runs = ("".join(run) for _, run in groupby(text))
    return "".join(_spelled(run) for run in runs)


def spell_line(text: str, limit: int = 200) -> str:
    """`text` as one line of at most `limit` characters, with every invisible character shown."""
    return _line(spell(text[: limit * 4]), limit, len(text))


def clean_line(text: str, limit: int = 200) -> str:
    """`text`, cleaned, as one line of at most `limit` characters."""
    return _line(clean(text[: limit * 4]), limit, len(text))


def cleaned(value: Value) -> Value:
    """A copy of `value` in which every string is cleaned, recursively in dataclasses, dicts, lists and tuples."""
    return cast(Value, _cleaned(value))


class Cleaner:
    """Cleans text that arrives in pieces; a control sequence may be split across pieces."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The cleaned text that can be shown now: all but an unfinished sequence at the end."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        return clean(text[:end])

    def finish(self) -> str:
        """The held back text: an unfinished sequence is shown."""
        held, self._held = self._held, ""
        return clean(held)


def _line(shown: str, limit: int, length: int) -> str:
    line = " ".join(shown.split())
    return line if len(line) <= limit and length <= limit * 4 else line[: limit - 1] + "…"


def _spelled(run: str) -> str:
    """A run of one repeated character; an invisible one is written by name, with the number of repeats."""
    one = run[0]
    if one in _TEXT or (one not in _BLANK and category(one)[0] != "C" and category(one) not in ("Zl", "Zp")):
        return run
    if one < " " or one == "\x7f":
        return _picture(one) * len(run)
    return _name(one, len(run))


def _cleaned(value: Any) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cleaned(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _cleaned(getattr(value, item.name)) for item in fields(value)})
    return value


def _pictured(found: re.Match[str]) -> str:
    return _picture(found[0])


def _picture(one: str) -> str:
    """A control character as its Unicode symbol (ESC as ␛); C1 and lone surrogates, which have none, by code point."""
    code = ord(one)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else _name(one, 1)


def _named(found: re.Match[str]) -> str:
    return _name(found[1], len(found[0]))


def _name(one: str, times: int) -> str:
    return f"⟨U+{ord(one):04X}⟩" if times == 1 else f"⟨U+{ord(one):04X} ×{times}⟩"
