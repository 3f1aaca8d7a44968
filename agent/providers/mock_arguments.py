"""Arguments for a tool, read from plain words by the tool's JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.providers.mock_words import stems

Schema = Mapping[str, Any]

DEPTH = 6
"""How deep a schema is followed: one that refers to itself has no end."""

ZONES = (
    "Africa/Cairo Africa/Johannesburg Africa/Lagos Africa/Nairobi America/Chicago America/Denver America/Los_Angeles "
    "America/Mexico_City America/New_York America/Sao_Paulo America/Toronto Asia/Dubai Asia/Hong_Kong Asia/Jakarta "
    "Asia/Kolkata Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Tokyo Australia/Sydney Europe/Amsterdam Europe/Athens "
    "Europe/Berlin Europe/Dublin Europe/Istanbul Europe/Lisbon Europe/London Europe/Madrid Europe/Moscow Europe/Paris "
    "Europe/Rome Europe/Stockholm Europe/Vienna Europe/Warsaw Europe/Zurich Pacific/Auckland"
).split()
CITIES = {zone.split("/")[1].replace("_", " ").lower(): zone for zone in ZONES}

NUMBER = re.compile(r"(?<![\w./:-])-?\d+(?:\.\d+)?(?![\w/:]|\.\d)")
QUOTED = re.compile(r"""(?<!\w)"([^"]*)"|(?<!\w)'([^']*)'(?!\w)|`([^`]*)`""")
PROSE = frozenset("message text content prompt query question input topic".split())
PREPOSITIONS = r"(?:to|in|for|of|about|on|from|with|at|by|into|as|that|named|called|is|it)"


def _zones(text: str) -> list[str]:
    cities = "|".join(CITIES)
    found = re.finditer(rf"\b[A-Z][a-z]+/[A-Z]\w+|\bUTC\b|\b(?i:{cities})\b", text)
    return [CITIES.get(match[0].lower(), match[0]) for match in found]


def _matches(pattern: str) -> Callable[[str], list[str]]:
    return lambda text: [match[0].rstrip(".,;:?!") or match[0] for match in re.finditer(pattern, text)]


@dataclass(frozen=True, slots=True)
class Sort:
    """Strings of one sort: the properties that hold them, where they stand in a text, one to use if none does."""

    properties: frozenset[str]
    find: Callable[[str], list[str]]
    fallback: str


SORTS = (
    Sort(frozenset(["timezone", "zone", "tz"]), _zones, "UTC"),
    Sort(frozenset(["url", "uri", "link"]), _matches(r"\b[a-z][a-z0-9+.-]*://[^\s\"'`]+"), "https://example.com/"),
    Sort(frozenset(["pattern", "glob"]), _matches(r"\S*\*\S*"), "*"),
    Sort(
        frozenset("path file filename directory dir folder repo source destination".split()),
        _matches(r"(?<!\S)(?:~|\.\.?|[A-Z]:)?[/\\][^\s\"'`]*|(?<!\S)\.\.?(?=\s|$)|(?<![\w/])[\w-]+\.[a-z]\w{0,4}\b"),
        ".",
    ),
    Sort(frozenset(["date"]), _matches(r"\b\d{4}-\d\d-\d\d\b"), "2026-01-01"),
    Sort(frozenset(["time"]), _matches(r"\b\d{1,2}:\d\d\b"), "12:00"),
    Sort(frozenset(["email"]), _matches(r"\S+@\S+\.\w+"), "someone@example.com"),
)


@dataclass(slots=True)
class _Unread:
    """What of the text no property has taken yet. `rest` is what follows the tool's name."""

    text: str
    rest: str
    numbers: list[str]
    quoted: list[str]
    sorts: dict[str, list[str]] = field(default_factory=dict)

    def take(self, sort: Sort) -> str | None:
        found = self.sorts.setdefault(sort.fallback, sort.find(self.text))
        if not found:
            return None
        self.rest = self.rest.replace(found[0], " ", 1)
        return found.pop(0)


def fill(schema: Schema, text: str, rest: str = "") -> tuple[dict[str, Any], int]:
    """Arguments for `schema` from `text`, and how many of them the text itself gave.

    What is named (`steps=5`, `5 steps`, an enum's value) counts first, then numbers, paths and the like in their
    order; `rest`, what is said after the tool's name, goes to the first string. What is required and still missing gets
    its default, or else a sensible value.
    """
    properties = {name: plain(sub, schema) for name, sub in _properties(schema)}
    required = [name for name in properties if name in (schema.get("required") or ())]
    order = required + [name for name in properties if name not in required]
    unread = _Unread(text, rest, NUMBER.findall(text), ["".join(groups) for groups in QUOTED.findall(rest)])
    filled: dict[str, Any] = {}
    for read in (_read_named, _read_sort):
        for name in order:
            if name not in filled and (value := read(name, properties[name], unread)) is not None:
                filled[name] = value
    given = len(filled)
    for name in _prose(required or order, properties, filled):
        if (value := _read_prose(name, properties[name], unread)) is not None:
            filled[name] = value
    for name in required:
        if name not in filled:
            filled[name] = invent(name, properties[name], schema)
    return {name: filled[name] for name in properties if name in filled}, given


def invent(name: str, schema: Schema, root: Schema, depth: int = 0) -> Any:
    """A sensible value: the default, an example, the first choice, or one that fits the type."""
    for key in ("default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(choices := schema.get(key), list) and choices:
            return choices[0]
    match schema.get("type"):
        case "number" | "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            count = schema.get("minItems", 0)
            return [invent(name, plain(schema.get("items"), root), root, depth + 1)] * count if depth < DEPTH else []
        case "object":
            needed = schema.get("required") or () if depth < DEPTH else ()
            return {n: invent(n, plain(sub, root), root, depth + 1) for n, sub in _properties(schema) if n in needed}
    return _invent_string(name, schema)


def plain(schema: object, root: Schema, depth: int = 0) -> dict[str, Any]:
    """The schema with its reference followed, the first alternative that is not null taken, and one type."""
    if not isinstance(schema, Mapping) or depth > DEPTH:
        return {}
    merged = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
    if isinstance(kinds := merged.get("type"), list):
        merged["type"] = next((kind for kind in kinds if kind != "null"), "null")
    for branch in _branches(schema, root):
        return plain(branch, root, depth + 1) | merged
    return merged


def _properties(schema: Schema) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties")
    yield from properties.items() if isinstance(properties, Mapping) else ()


def _branches(schema: Schema, root: Schema) -> Iterator[object]:
    if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#/"):
        target: Any = root
        for key in reference[2:].split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        yield target
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        yield from (b for b in branches if b != {"type": "null"}) if isinstance(branches, list) else ()


def _read_named(name: str, schema: Schema, unread: _Unread) -> Any:
    """A value that the text connects with the property's name, or with the property alone."""
    spelled = r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", name)))
    assigned = re.search(rf"(?i)(?<!\w){spelled}\s*[=:]\s*(\"[^\"]*\"|[^\s,;]+)", unread.text)
    match schema:
        case {"enum": [*choices]}:
            said = (c for c in choices if re.search(rf"(?i)(?<!\w){re.escape(str(c))}(?!\w)", unread.text))
            return next(said, None)
        case {"type": "number" | "integer"}:
            beside = re.search(rf"(?i)({NUMBER.pattern})\s+{spelled}(?!\w)", unread.text) if len(name) > 1 else None
            if found := assigned or beside:
                return _number(found[1], unread)
        case {"type": "boolean"} if len(name) > 2:
            said_so = re.search(rf"(?i)(\b(?:no|not|without)\s+)?(?<!\w){spelled}(?!\w)", unread.text)
            return (
                None if said_so is None else not (said_so[1] or (assigned and assigned[1].lower() in ("false", "no")))
            )
        case {"type": "string"} if assigned:
            unread.rest = unread.rest.replace(assigned[0], " ", 1)
            return assigned[1].strip('"')
    return None


def _number(written: str, unread: _Unread) -> int | float | None:
    if not NUMBER.fullmatch(written):
        return None
    if written in unread.numbers:
        unread.numbers.remove(written)
    return float(written) if "." in written else int(written)


def _read_sort(name: str, schema: Schema, unread: _Unread) -> Any:
    """The next number, path, address … of the text that nothing else has taken."""
    sort = _sort(name, schema)
    match schema.get("type"):
        case "number" | "integer" if unread.numbers:
            return _number(unread.numbers[0], unread)
        case "string" if sort:
            return unread.take(sort)
        case "array":
            items = schema.get("items")
            if isinstance(items, Mapping) and items.get("type") in ("number", "integer"):
                return [_number(written, unread) for written in tuple(unread.numbers)] or None
            return list(iter(lambda: unread.take(sort), None)) or None if sort else None
    return None


def _prose(names: list[str], properties: Mapping[str, Schema], filled: Mapping[str, Any]) -> list[str]:
    """The properties that may take free text, best first."""
    fitting = [n for n in names if n not in filled and properties[n].get("type", "string") == "string"]
    fitting = [n for n in fitting if "enum" not in properties[n] and "default" not in properties[n]]
    return sorted(fitting, key=lambda name: _sort(name, properties[name]) is not None)


def _read_prose(name: str, schema: Schema, unread: _Unread) -> str | None:
    """Quoted text if there is any, else all that is left; a name or a place loses its preposition."""
    if _sort(name, schema):
        return None
    if unread.quoted and (len(unread.quoted) > 1 or not QUOTED.sub("", unread.rest).strip(" .?!")):
        quoted = unread.quoted.pop(0)
        unread.rest = unread.rest.replace(quoted, "", 1).replace('""', "", 1)
        return quoted
    text = unread.rest.strip(" \t\r\n:,")
    if not PROSE & set(stems(name)) or unread.sorts and any(" " * 2 in part for part in [unread.rest]):
        text = re.sub(rf"(?i)^(?:{PREPOSITIONS}\b\s*)+(?:(?:the|a|an|my)\s+)?|\s+{PREPOSITIONS}$", "", text).rstrip(
            " .?!"
        )
    unread.rest = ""
    return " ".join(text.split(" ")) or None


def _sort(name: str, schema: Schema) -> Sort | None:
    said = {*stems(re.sub(r"(?i)time[_ -]?zone", "timezone", name)), str(schema.get("format", ""))}
    return next((sort for sort in SORTS if said & sort.properties), None)


def _invent_string(name: str, schema: Schema) -> str:
    if sort := _sort(name, schema):
        return sort.fallback
    example = re.search(r"'([^']+)'", str(schema.get("description", "")))
    return example[1] if example else f"any {' '.join(stems(name)) or name}"


def as_json(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False)
