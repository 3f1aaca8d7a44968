"""What servers and models write, made harmless for a terminal: nothing in it can move, colour, hide or rewrite.

A well-formed control sequence is dropped, since it would have been invisible. What is left of control and format
characters is made visible, so that nothing a model reads is hidden from the person.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar, cast

Value = TypeVar("Value")

_LONGEST = 4096
"""Characters of an unfinished sequence held back while streaming; a longer one is shown instead."""

_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
_SHORT = r"\x1b[ -/]+[0-~]|\x1b[0-Z\\^-~]"
_SEQUENCE = re.compile(f"{_CSI}|{_STRING}|{_SHORT}")
_UNFINISHED = re.compile(
    r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c\n]*\x1b?|[ -/]*)"
    r"|\x9b[0-?]*[ -/]*|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x9c\n]*\x1b?|\r)\Z"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Not U+200C and U+200D: Persian, Indic scripts and emoji are written with them.
_HIDDEN = re.compile(
    r"([\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff])\1*"
)


def clean(text: str) -> str:
    """`text` without terminal control; of the C0 characters only newline and tab are left."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")
    return _HIDDEN.sub(_named, _CONTROL.sub(_pictured, text))


def clean_line(text: str, limit: int = 200) -> str:
    """`text` as one line of at most `limit` characters."""
    line = " ".join(clean(text[: limit * 4]).split())
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1] + "…"


def cleaned(value: Value) -> Value:
    """A value like `value` in which every text is clean: dataclasses, dicts, lists and tuples all the way down."""
    return cast(Value, _cleaned(value))


class Cleaner:
    """Cleans text that arrives in pieces, wherever a sequence is cut."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far can be shown and has not been returned yet."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        return clean(text[:end])

    def finish(self) -> str:
        """The rest: a sequence that never ended is shown."""
        held, self._held = self._held, ""
        return clean(held)


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
    """A control character as its picture: ESC as ␛; C1 and lone surrogates, which have none, by name."""
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _named(found: re.Match[str]) -> str:
    times = len(found[0])
    return f"⟨U+{ord(found[1]):04X}⟩" if times == 1 else f"⟨U+{ord(found[1]):04X} ×{times}⟩"
