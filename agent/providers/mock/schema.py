"""Reads JSON Schemas: simplified properties, and generated values where none was given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.providers.mock.words import stems

Schema = Mapping[str, Any]

DEPTH = 6
"""Maximum depth to which a schema is followed, as a schema may refer to itself."""

MOST_ITEMS = 5

REGIONS = {
    "Africa": "Cairo Johannesburg Lagos Nairobi",
    "America": "Chicago Denver Los_Angeles Mexico_City New_York Sao_Paulo Toronto",
    "Asia": "Dubai Hong_Kong Jakarta Kolkata Seoul Shanghai Singapore Tokyo",
    "Australia": "Melbourne Perth Sydney",
    "Europe": "Amsterdam Athens Berlin Dublin Istanbul Lisbon London Madrid Moscow Paris Rome Stockholm Vienna Warsaw",
    "Pacific": "Auckland Honolulu",
}
ZONES = {
    city.replace("_", " ").lower(): f"{region}/{city}" for region, cities in REGIONS.items() for city in cities.split()
}


@dataclass(frozen=True, slots=True)
class Look:
    """A kind of string that can be recognised by its format.

    `properties`: words in the names of the properties that hold such strings; `fallback`: the value used if the text
    has none; `meanings`: alternative spellings, in lower case, and what they stand for.
    """

    properties: str
    pattern: str
    fallback: str
    meanings: Mapping[str, str] = field(default_factory=dict)

    def find(self, text: str) -> str | None:
        found = re.search(self.pattern, text)
        return found and (found[0].rstrip(".,;:?!") or found[0])


ROOTED = (
    r"(?<=[\"'`])[~.]{0,2}/[^\"'`]*(?=[\"'`])|(?<![^\s(])(?:~|\.\.?|[A-Za-z]:)?[/\\][^\s\"'`]*|(?<!\S)\.\.?(?=\s|$)"
)
LOOKS = (
    Look("timezone zone tz", rf"\b[A-Z][a-z]+/[A-Z]\w+|\bUTC\b|\b(?i:{'|'.join(ZONES)})\b", "UTC", ZONES),
    Look("url uri link", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'`]+", "https://example.com/"),
    Look("email", r"[\w.+-]+@[\w-]+\.[\w.-]+", "someone@example.com"),
    Look("pattern glob", r"\S*\*\S*", "*"),
    Look("repo directory dir", ROOTED, "."),
    Look("path file filename source destination", rf"{ROOTED}|(?<!\S)[\w/\\-]+\.[a-z]\w{{0,4}}\b", "."),
    Look("date", r"\b\d{4}-\d\d-\d\d\b", "2026-01-01"),
    Look("time", r"\b\d{1,2}:\d\d\b", "12:00"),
    Look("city town place location", r"(?<=[a-z] )[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)*", "Paris"),
)


def look_of(name: str, schema: Schema) -> Look | None:
    said = {*stems(re.sub(r"(?i)time[_ -]?zone", "timezone", name)), str(schema.get("format"))}
    return next((look for look in LOOKS if said & set(look.properties.split())), None)


def properties(schema: Schema, root: Schema | None = None) -> dict[str, dict[str, Any]]:
    """The simplified schema of each property."""
    found = schema.get("properties")
    return {n: plain(sub, root or schema) for n, sub in found.items()} if isinstance(found, Mapping) else {}


def required(schema: Schema) -> list[str]:
    """The required properties that have a schema, in the order of `properties`."""
    found, needed = schema.get("properties"), schema.get("required")
    return [name for name in found if name in needed] if isinstance(found, Mapping) and isinstance(needed, list) else []


def plain(schema: object, root: Schema, depth: int = 0) -> dict[str, Any]:
    """The schema with references resolved, the first non-null alternative chosen, and a single type."""
    if not isinstance(schema, Mapping) or depth > DEPTH:
        return {}
    merged = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
    if isinstance(types := merged.get("type"), list):
        merged["type"] = next((name for name in types if name != "null"), "null")
    branch = next(_branches(schema, root), None)
    return plain(branch, root, depth + 1) | merged


def invent(name: str, schema: Schema, root: Schema, depth: int = 0) -> Any:
    """A plausible value for a simplified schema: its default, an example, the first enum value, or one of its type."""
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
            return _invent_items(name, schema, root, depth)
        case "object":
            inner = properties(schema, root) if depth < DEPTH else {}
            return {key: invent(key, inner[key], root, depth + 1) for key in required(schema) if key in inner}
    return invent_text(name, schema)


def invent_text(name: str, schema: Schema) -> str:
    """A string in the expected format, or the first quoted string of the description."""
    if look := look_of(name, schema):
        return look.fallback
    example = re.search(r"'([^']+)'", str(schema.get("description", "")))
    return example[1] if example else f"any {' '.join(stems(name)) or name}"


def _invent_items(name: str, schema: Schema, root: Schema, depth: int) -> list[Any]:
    least = schema.get("minItems", 0)
    if not isinstance(least, int) or depth >= DEPTH:
        return []
    return [invent(name, plain(schema.get("items"), root), root, depth + 1)] * min(least, MOST_ITEMS)


def _branches(schema: Schema, root: Schema) -> Iterator[object]:
    if isinstance(reference := schema.get("$ref"), str):
        yield _follow(reference, root)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := schema.get(key), list):
            yield from (branch for branch in branches if branch != {"type": "null"})


def _follow(reference: str, root: Schema) -> object:
    """The part of the same document that the JSON Pointer `#/a/b` refers to."""
    target: object = root
    for key in reference.removeprefix("#/").split("/"):
        target = target.get(key) if isinstance(target, Mapping) else None
    return target
