"""Parsing of docstrings: the summary, and the descriptions of the parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

_GOOGLE = re.compile(r"^(args|arguments|parameters|params):\s*$", re.IGNORECASE)
_NUMPY = re.compile(r"^(parameters|other parameters)$", re.IGNORECASE)
_RULE = re.compile(r"^-{3,}\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r"^:type\s+\w+\s*:")


@dataclass(frozen=True, slots=True)
class Docstring:
    """`summary` is the text without the parameter section, `parameters` the descriptions from it by name."""

    summary: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Parse Google, NumPy or Sphinx style; a docstring in none of them is all summary."""
    lines = inspect.cleandoc(text or "").splitlines()
    kept: list[str] = []
    described: dict[str, list[str]] = {}
    position = 0
    while position < len(lines):
        line, rest = lines[position], lines[position + 1 :]
        if _GOOGLE.match(line):
            section = list(_indented(rest))
            described |= _google_entries(section)
        elif _NUMPY.match(line) and rest and _RULE.match(rest[0]):
            section = [rest[0], *_until_next_rule(rest[1:])]
            described |= _numpy_entries(section[1:])
        elif found := _SPHINX.match(line):
            section = list(_indented(rest))
            described[found.group(1)] = [found.group(2), *section]
        elif _SPHINX_TYPE.match(line):
            section = []
        else:
            kept.append(line)
            section = []
        position += 1 + len(section)
    summary = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Docstring(summary, {name: _joined(words) for name, words in described.items()})


def _indented(lines: list[str]) -> Iterator[str]:
    """The lines of a section: those that are indented, and blank ones between them."""
    for number, line in enumerate(lines):
        following = next((later for later in lines[number:] if later.strip()), "")
        if not following[:1].isspace():
            return
        yield line


def _until_next_rule(lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and _RULE.match(lines[number + 1]):
            return
        yield line


def _google_entries(section: list[str]) -> dict[str, list[str]]:
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    body = inspect.cleandoc("\n" + "\n".join(section)).splitlines()
    for line in body:
        if found := _ENTRY.match(line):
            current = entries[found.group(1)] = [found.group(2)]
        else:
            current.append(line)
    return entries


def _numpy_entries(section: list[str]) -> dict[str, list[str]]:
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in section:
        if line[:1].isspace() or not line.strip():
            current.append(line)
        elif found := _NUMPY_ENTRY.match(line):
            current = []
            entries |= dict.fromkeys(re.split(r"\s*,\s*", found.group(1)), current)
    return entries


def _joined(words: list[str]) -> str:
    return " ".join(" ".join(words).split())
