"""Converts a tool's JSON Schema for all model APIs. Arguments are still validated against the server's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import to_json

Schema = dict[str, Any]

_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_COMBINATORS = ("anyOf", "oneOf", "allOf")
_SINGLE = {"items", "contains", "not", "if", "then", "else", "propertyNames"}
_SINGLE_OR_BOOLEAN = {"additionalProperties", "unevaluatedProperties", "unevaluatedItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas"}
_DEFINITIONS = ("$defs", "definitions")
_REFUSED = {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "prefixItems", "additionalItems"}
_REFUSED_AT_ROOT = {
    *_COMBINATORS, "not", "enum", "const", "if", "then", "else", "dependentRequired", "dependentSchemas",
    "dependencies",
}  # fmt: skip

_MAX_DEPTH = 48
_MAX_INLINED = 500  # a few nested definitions can expand to gigabytes


def normalise(schema: object) -> Schema:
    """A schema whose root is a plain object, with non-recursive references replaced by what they refer to.

    Constraints of the root beyond its properties (`anyOf`, `not`, `if` …) are rejected by the APIs and left out; the
    alternative sets of required properties in `anyOf` and `oneOf` are described in its description.
    """
    root = schema if isinstance(schema, dict) else {}
    fitter = _Fitter(root)
    fitted = _as_plain_object(fitter.fit(root, depth=0, within=()))
    definitions = fitter.definitions()
    return {**fitted, **definitions}


def rename_keys(schema: Schema) -> tuple[Schema, dict[str, str]]:
    """The schema with top-level property names Anthropic accepts, and the original name of each changed one."""
    originals: dict[str, str] = {}
    taken = set(schema["properties"])
    for name in schema["properties"]:
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            originals[_free_name(name, taken)] = name
    if not originals:
        return schema, {}
    renamed = {original: new for new, original in originals.items()}
    properties = {renamed.get(name, name): value for name, value in schema["properties"].items()}
    required = [renamed.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": properties, **({"required": required} if required else {})}, originals


def _free_name(name: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-zA-Z0-9_.-]", "_", name)[:60] or "_"
    free = next(new for n in range(len(taken) + 1) if (new := base if n == 0 else f"{base}_{n}") not in taken)
    taken.add(free)
    return free


class _Fitter:
    """Converts one schema; records which recursive definitions must be kept."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._kept: dict[str, None] = {}
        self._inlined = 0

    def fit(self, schema: object, depth: int, within: tuple[str, ...]) -> Schema:
        """`within` are the references that were followed to reach this schema."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return {}
        schema, within = self._resolve(schema, within)
        fitted = {key: self._fit_value(key, value, depth + 1, within) for key, value in schema.items()}
        fitted = {key: value for key, value in fitted.items() if _is_wanted(key, value)}
        return _repair_bounds(_repair_array(fitted, self._members(schema, depth + 1, within)))

    def definitions(self) -> Schema:
        """The converted definitions that are still referred to, by their location in the source."""
        found: dict[str, Schema] = {}
        done: set[str] = set()
        while waiting := [ref for ref in self._kept if ref not in done]:
            for ref in waiting:
                done.add(ref)
                _, place, name = ref.split("/", 2)
                found.setdefault(place, {})[_unescape(name)] = self.fit(self._find(ref), 1, (ref,))
        return found

    def _fit_value(self, key: str, value: Any, depth: int, within: tuple[str, ...]) -> Any:
        if key in _SINGLE or (key in _SINGLE_OR_BOOLEAN and not isinstance(value, bool)):
            return self.fit(value, depth, within)
        if key in _COMBINATORS:
            return self._fit_all(value, depth, within)
        if key in _NAMED and isinstance(value, dict):
            return {name: self.fit(member, depth, within) for name, member in value.items()}
        return value

    def _fit_all(self, schemas: object, depth: int, within: tuple[str, ...]) -> list[Schema]:
        return [self.fit(schema, depth, within) for schema in schemas] if isinstance(schemas, list) else []

    def _members(self, schema: Schema, depth: int, within: tuple[str, ...]) -> list[Schema]:
        """The item schemas of a tuple, as `prefixItems` or as a list in `items`."""
        listed = schema["items"] if isinstance(schema.get("items"), list) else schema.get("prefixItems")
        return self._fit_all(listed, depth, within)

    def _resolve(self, schema: Schema, within: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        followed: set[str] = set()
        while isinstance(ref := schema.get("$ref"), str):
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._find(ref)
            if target is None or ref in followed:  # it cannot be resolved
                return beside, within
            if ref in within or self._inlined >= _MAX_INLINED:
                return self._refer(ref, beside), within
            followed.add(ref)
            self._inlined += 1
            schema = {**target, **beside}
        return schema, (*within, *followed)

    def _refer(self, ref: str, beside: Schema) -> Schema:
        if re.fullmatch(r"#/(\$defs|definitions)/[^/]+", ref):
            self._kept[ref] = None
            return {**beside, "$ref": ref}
        return beside

    def _find(self, ref: str) -> Schema | None:
        found: Any = self._root
        if not ref.startswith("#"):
            return None
        for step in filter(None, ref[1:].split("/")):
            found = found.get(_unescape(step)) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else None


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _is_wanted(key: str, value: Any) -> bool:
    match key:
        case "type":
            return value in _TYPES if isinstance(value, str) else _is_type_list(value)
        case "properties" | "patternProperties" | "dependentSchemas":
            return isinstance(value, dict)
        case "required":
            return isinstance(value, list) and all(isinstance(name, str) for name in value)
        case "enum" | "anyOf" | "oneOf" | "allOf":
            return isinstance(value, list) and bool(value)
    return key not in _REFUSED and key not in _DEFINITIONS


def _is_type_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name in _TYPES for name in value)


def _repair_array(schema: Schema, members: list[Schema]) -> Schema:
    """Add the `items` that the APIs require; the items of a tuple become alternatives."""
    if members:
        different = list({to_json(member): member for member in members}.values())
        return {**schema, "items": different[0] if len(different) == 1 else {"anyOf": different}}
    kinds = schema.get("type")
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    return {**schema, "items": {}} if is_array and "items" not in schema else schema


def _repair_bounds(schema: Schema) -> Schema:
    """Convert draft 4's boolean `exclusiveMinimum` and `exclusiveMaximum` to numbers."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool):
            schema = dict(schema)
            if schema.pop(exclusive) and bound in schema:
                schema[exclusive] = schema.pop(bound)
    return schema


def _as_plain_object(schema: Schema) -> Schema:
    properties, required = _gather(schema)
    plain = {key: value for key, value in schema.items() if key not in _REFUSED_AT_ROOT}
    plain |= {"type": "object", "properties": properties}
    plain.pop("required", None)
    if wanted := [name for name in properties if name in required]:
        plain["required"] = wanted
    if hint := _hint(schema):
        plain["description"] = f"{plain['description']} {hint}" if plain.get("description") else hint
    return plain


def _gather(schema: Schema) -> tuple[dict[str, Schema], set[str]]:
    """All properties of an object with alternatives, and those that are required by every alternative."""
    properties: dict[str, Schema] = dict(schema.get("properties", {}))
    required = set(schema.get("required", ()))
    for combinator in _COMBINATORS:
        members = [_gather(member) for member in schema.get(combinator, ())]
        for more, _ in members:
            for name, value in more.items():
                properties[name] = _either(properties[name], value) if name in properties else value
        if members:
            needs = [needed for _, needed in members]
            required |= set.union(*needs) if combinator == "allOf" else set.intersection(*needs)
    return properties, required


def _either(one: Schema, other: Schema) -> Schema:
    """A property that two alternatives define differently."""
    alternatives = one["anyOf"] if set(one) == {"anyOf"} else [one]
    return one if other in alternatives or not other else {"anyOf": [*alternatives, other]} if one else other


def _hint(schema: Schema) -> str:
    hints = []
    for combinator, words in (("anyOf", "At least one"), ("oneOf", "Exactly one")):
        sets = [sorted(member.get("required", ())) for member in schema.get(combinator, ())]
        if any(sets):
            hints.append(f"{words} of these sets of properties is needed: {_listed(sets)}.")
    return " ".join(hints)


def _listed(sets: Iterable[list[str]]) -> str:
    return "; ".join(" and ".join(names) or "none" for names in sets)
