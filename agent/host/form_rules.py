"""Restrictions on a server's form: flat, limited in size, and without fields for secrets."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from agent.host.form_secrets import asks_for_secret, is_secret

MOST_FIELDS = 100
MOST_CHOICES = 1_000
LONGEST_MESSAGE = 20_000  # characters
LONGEST_LABEL = 2_000

_TYPED = ("string", "integer", "number", None)
_RANGES = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_UNLIKE_PYTHON = (
    (re.compile(r"\\[pP]\{[^{}]*\}"), "."),
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
    (re.compile(r"\\k<(\w+)>"), r"(?P=\1)"),
    (re.compile(r"\\c[A-Za-z]"), "."),
    (re.compile(r"\\u\{[0-9A-Fa-f]+\}"), "."),
    (re.compile(r"(\\[wdsWDS])-(?!\])"), r"\1\\-"),
    (re.compile(r"\[\^\]"), r"[\\s\\S]"),
)
"""Replacements for regular expression syntax of ECMA-262 (JSON Schema's dialect) that Python does not have."""


def form_objection(message: str, schema: Mapping[str, Any]) -> str | None:
    """Why the form is not shown, as the end of a sentence that begins with "the form"; None if it is acceptable."""
    properties = schema.get("properties") or {}
    if schema.get("type") not in (None, "object"):
        return f"has a schema of type {_cut(schema.get('type'))}; a form is an object"
    if len(message) > LONGEST_MESSAGE:
        return f"has a message of {len(message):,} characters; {LONGEST_MESSAGE:,} are allowed"
    if not isinstance(properties, dict) or not all(isinstance(rules, dict) for rules in properties.values()):
        return "has properties that are no fields"
    if len(properties) > MOST_FIELDS:
        return f"has {len(properties):,} fields; {MOST_FIELDS} are allowed"
    return next((fault for name, rules in properties.items() if (fault := _fault(name, rules))), None) or _prose(
        message, properties
    )


def _fault(name: str, rules: Mapping[str, Any]) -> str | None:
    if any(len(text) > LONGEST_LABEL for text in _labels(name, rules)):
        return f"has a field with a label of more than {LONGEST_LABEL:,} characters"
    if _nests(rules):
        return f"has a field that is a form in itself, {name!r}; forms are flat"
    if any(len(choices) > MOST_CHOICES for choices in _choices(rules)):
        return f"has a field with more than {MOST_CHOICES:,} choices, {name!r}"
    if broken := _contradiction(rules):
        return f"has a field that nothing can fill, {name!r}: {broken}"
    if _is_typed(rules) and is_secret(name, rules):
        return f"asks for a secret, {name!r}, which a form must not; a page of the server's own may (URL mode)"
    return None


def _contradiction(rules: Mapping[str, Any]) -> str | None:
    for least, most in _RANGES:
        low, high = rules.get(least), rules.get(most)
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            return f"{least} {low:g} is more than {most} {high:g}"
    pattern = rules.get("pattern")
    if isinstance(pattern, str) and not _is_pattern(pattern):
        return f"the pattern {_cut(pattern)} is no regular expression"
    return None


def _is_pattern(pattern: str) -> bool:
    for theirs, ours in _UNLIKE_PYTHON:
        pattern = theirs.sub(ours, pattern)
    return compiled(pattern) is not None


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """A server's pattern, compiled; None if Python cannot compile it."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _cut(value: object) -> str:
    return repr(value)[:80]


def _prose(message: str, properties: Mapping[str, Any]) -> str | None:
    """The objection if the texts around otherwise harmless fields ask for a secret, else None."""
    is_asked = asks_for_secret(message)
    for name, rules in properties.items():
        is_text = _is_typed(rules) and rules.get("type") not in ("integer", "number")
        if is_text and (is_asked or asks_for_secret(str(rules.get("description") or ""))):
            return f"asks for a secret, in {name!r}, which a form must not; a page of the server's own may (URL mode)"
    return None


def _is_typed(rules: Mapping[str, Any]) -> bool:
    """Whether its value is typed rather than chosen."""
    kind = rules.get("type")
    return (isinstance(kind, list) or kind in _TYPED) and not any(_choices(rules))


def _nests(rules: Mapping[str, Any]) -> bool:
    items = rules.get("items")
    within = items if isinstance(items, dict) else {}
    deep = ("properties", "patternProperties", "additionalProperties", "$ref", "allOf", "if", "not")
    return (
        any(key in part for part in (rules, within) for key in deep)
        or rules.get("type") == "object"
        or within.get("type") in ("object", "array")
    )


def _labels(name: str, rules: Mapping[str, Any]) -> Iterator[str]:
    yield name
    yield from (text for key in ("title", "description", "pattern") if isinstance(text := rules.get(key), str))


def _choices(rules: Mapping[str, Any]) -> Iterator[list[Any]]:
    items = rules.get("items")
    for part in (rules, items if isinstance(items, dict) else {}):
        yield from (found for key in ("enum", "oneOf", "anyOf") if isinstance(found := part.get(key), list) and found)
