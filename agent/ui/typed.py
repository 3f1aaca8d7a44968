"""Parses a half-typed command up to the cursor, for completion; pure functions on text."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import quote, unquote

_VARIABLE = re.compile(r"\{(\+?)([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Word:
    """The KEY=VALUE word at the cursor: `raw` as typed, `value` None while it has no "="."""

    raw: str
    name: str
    value: str | None
    known: dict[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """A variable of a URI template at the cursor; `head` is the URI before it, `tail` the literal text after it."""

    name: str
    value: str
    known: dict[str, str]
    head: str
    tail: str
    is_path: bool

    def filled(self, value: str) -> str:
        """The URI with this value, up to the next variable."""
        return self.head + quote(value, safe="/" if self.is_path else "") + self.tail


def word_at_end(text: str) -> Word:
    """The last of the KEY=VALUE words; it may be empty, or in quotes that are still open."""
    raw = _last_word(text)
    name, equals, value = raw.partition("=")
    known = dict(pair for pair in (_pair(word) for word in _words(text[: len(text) - len(raw)])) if pair)
    return Word(raw, name, _unquoted(value) if equals else None, known)


def written(name: str, value: str) -> str:
    """A KEY=VALUE word, quoted so that it is parsed to this value."""
    return f"{name}={shlex.quote(value) if value else ''}"


def literal_head(template: str) -> str:
    """A URI template up to its first variable."""
    return template.partition("{")[0]


def place_in_template(template: str, typed: str) -> Place | None:
    """The variable of the template at the end of `typed`; None if `typed` does not match, or ends before a variable.

    Of RFC 6570, only `{name}` and `{+name}` are supported.
    """
    known: dict[str, str] = {}
    at, position = 0, 0
    for found in _VARIABLE.finditer(template):
        literal = template[position : found.start()]
        if "{" in literal or not typed.startswith(literal, at):
            return None
        at, position = at + len(literal), found.end()
        following = _following(template, position)
        end = typed.find(following, at) if following else -1
        if end < 0:
            return Place(found[2], unquote(typed[at:]), known, typed[:at], following, bool(found[1]))
        known[found[2]] = unquote(typed[at:end])
        at = end
    return None


def _following(template: str, position: int) -> str:
    return template[position:].partition("{")[0]


def _last_word(text: str) -> str:
    start, quotes = 0, ""
    for at, letter in enumerate(text):
        if quotes:
            quotes = "" if letter == quotes else quotes
        elif letter in "'\"":
            quotes = letter
        elif letter.isspace():
            start = at + 1
    return text[start:]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _pair(word: str) -> tuple[str, str] | None:
    name, equals, value = word.partition("=")
    return (name, value) if equals and name else None


def _unquoted(value: str) -> str:
    """A value without its quotes; the closing one may be missing."""
    quotes = value[:1] if value[:1] in ("'", '"') else ""
    return value[len(quotes) :].removesuffix(quotes) if quotes else value
