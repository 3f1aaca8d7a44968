"""Extracts a tool's arguments from plain text, following the tool's JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.providers.mock.schema import Look, Schema, invent, look_of, properties, required
from agent.providers.mock.words import WORD, stems

READ = 4_000
"""Maximum length of text that is searched for numbers, paths and named values, in characters."""

NUMBER = re.compile(r"(?<![\w./:-])-?\d{1,15}(?:\.\d{1,15})?(?![\w/:]|\.\d)")
QUOTED = re.compile(r"""(?<!\w)(?:"([^"]*)"|'([^']*)'|`([^`]*)`)(?!\w)""")
PROSE = {"message", "text", "content", "body", "prompt", "question", "input"}
"""Properties that take text unchanged; for others, leading filler words are removed ("to Paris", "on the ICE 5")."""

LEADING = re.compile(
    r"(?:(?:to|in|for|of|about|on|from|with|at|by|into|as|that|named|called|is|it)\b\s*)+(?:(?:the|a|an|my)\s+)?", re.I
)
TRAILING = re.compile(r"(?:\s(?:to|in|for|of|on|from|with|at|by|into|and))+$", re.I)
NUMERIC = ("number", "integer")
LONGEST_NAME = 3
"""Maximum number of words that are taken for a path, place or the like if they do not look like one."""


@dataclass(slots=True)
class _Unread:
    """The text not yet assigned to a property: of the whole text, and of `rest`, which follows the tool's name.

    `names` is a pattern that matches the names of all properties.
    """

    text: str
    rest: str
    numbers: list[str]
    names: str
    cut: bool = False

    def take(self, look: Look) -> str | None:
        found = look.find(self.text)
        if found is None:
            return None
        self.remove(found)
        return look.meanings.get(found.lower(), found)

    def remove(self, part: str) -> None:
        self.text, self.rest = self.text.replace(part, " ", 1), self.rest.replace(part, " ", 1)
        self.cut = True

    def take_number(self, written: str) -> int | float:
        if written in self.numbers:
            self.numbers.remove(written)
        return float(written) if "." in written else int(written)


def fill(schema: Schema, text: str, rest: str = "") -> tuple[dict[str, Any], int]:
    """Arguments for `schema` from `text`, and how many of them were found in the text.

    Named values (`steps=5`, `5 steps`, an enum value) are read first, then numbers, paths and the like in order of
    appearance; `rest`, the text after the tool's name, goes to the first string. Required properties still missing get
    their default or a plausible value. If any property is required, an optional number must be named in the text.
    """
    known, needed = properties(schema), required(schema)
    order = needed + [name for name in known if name not in needed]
    unread = _Unread(text[:READ], rest, NUMBER.findall(text[:READ]), "|".join(map(_spell, known)))
    filled: dict[str, Any] = {}
    countable = [name for name in order if name in needed or not needed or known[name].get("type") not in NUMERIC]
    for read, names in ((_read_named, order), (_read_by_look, countable)):
        for name in names:
            if name not in filled and (value := read(name, known[name], unread)) is not None:
                filled[name] = value
    held = len(filled)
    for name in _text_properties(needed or order, known, filled):
        if value := _read_text(name, known[name], unread):
            filled[name] = value
    for name in needed:
        if name not in filled:
            filled[name] = invent(name, known[name], schema)
    return {name: filled[name] for name in known if name in filled}, held


def _read_named(name: str, schema: Schema, unread: _Unread) -> Any:
    """A value that the text associates with the property's name, or that only this property accepts."""
    match schema:
        case {"enum": [*choices]}:
            return next((choice for choice in choices if _mentions(unread.text, choice)), None)
        case {"type": "number" | "integer"}:
            return _read_named_number(name, unread)
        case {"type": "boolean"} if len(name) > 2:
            negated = rf"(?i)(\b(?:no|not|without)\s+)?{_spell(name)}(?!\w)(\s*[=:]\s*(?:false|no)\b)?"
            said = re.search(negated, unread.text)
            return None if said is None else not (said[1] or said[2])
        case {"type": "string"}:
            return _read_named_text(name, unread)
    return None


def _read_named_number(name: str, unread: _Unread) -> int | float | None:
    """A number written as `steps=5`, `5 steps` or `steps 5`, tried in this order."""
    spelled, number = _spell(name), NUMBER.pattern
    patterns = [rf"{spelled}\s*[=:]\s*(-?\d[\d.]*)", rf"({number})\s+{spelled}(?!\w)", rf"{spelled}\s+({number})"]
    for pattern in patterns[: 1 if len(name) == 1 else None]:
        found = re.search(f"(?i){pattern}", unread.text)
        if found and NUMBER.fullmatch(written := found[1].rstrip(".")):
            unread.remove(found[0])
            return unread.take_number(written)
    return None


def _read_named_text(name: str, unread: _Unread) -> str | None:
    """`title=word`, `title "some words"`, or `title: some words` up to the next property's name."""
    until = rf"(.+?)(?=[,;]?\s+(?:{unread.names})\s*[=:]|$)"
    found = re.search(rf'(?is){_spell(name)}\s*(?:[=:]?\s*"([^"]*)"|=\s*([^\s,;]+)|:\s*{until})', unread.rest)
    if found is None:
        return None
    unread.remove(found[0])
    return next(value.strip() for value in found.groups() if value is not None)


def _spell(name: str) -> str:
    """A pattern that matches a property's name in the spellings people use."""
    return r"(?<!\w)" + r"[\s_-]*".join(map(re.escape, WORD.findall(name) or [name]))


def _read_by_look(name: str, schema: Schema, unread: _Unread) -> Any:
    """The next number, path, address … in the text that is not yet assigned."""
    look = look_of(name, schema)
    match schema:
        case {"type": "number" | "integer"} if unread.numbers:
            return unread.take_number(unread.numbers[0])
        case {"type": "array", "items": {"type": "number" | "integer"}}:
            return [unread.take_number(written) for written in tuple(unread.numbers)] or None
        case {"type": "array"} if look:
            return list(iter(lambda: unread.take(look), None)) or None
        case {"type": "string"} if look:
            return unread.take(look)
    return None


def _text_properties(names: list[str], known: Mapping[str, Schema], filled: Mapping[str, Any]) -> list[str]:
    """The properties that may take free text; those with a recognisable format come last."""
    open_ones = [name for name in names if name not in filled and known[name].get("type", "string") == "string"]
    free = [name for name in open_ones if not known[name].keys() & {"enum", "default", "const"}]
    return sorted(free, key=lambda name: look_of(name, known[name]) is not None)


def _read_text(name: str, schema: Schema, unread: _Unread) -> str | None:
    """The quoted text if there is other text beside it, else all remaining text."""
    text = unread.rest.strip(" \t\r\n:,")
    quoted = QUOTED.search(text)
    if quoted and (unread.cut or quoted[0] == text or len(QUOTED.findall(text)) > 1):
        unread.remove(quoted[0])
        return quoted[0][1:-1]
    if unread.cut or not PROSE & set(stems(name)):
        text = TRAILING.sub("", re.sub(" {2,}", " ", LEADING.sub("", text, count=1) if LEADING.match(text) else text))
        text = text.strip(" .?!,")
    if not stems(text) and not PROSE & set(stems(name)):
        return None
    if look_of(name, schema) and len(text.split()) > LONGEST_NAME:
        return None
    unread.rest = ""
    return text


def _mentions(text: str, choice: object) -> bool:
    return bool(choice) and re.search(rf"(?i)(?<!\w){re.escape(str(choice))}(?!\w)", text) is not None
