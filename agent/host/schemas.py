"""Validates values against a server's JSON Schema, in bounded time and without network access."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

REFERENCES_FOLLOWED = 10_000
NODES = 20_000
DEEPEST = 64
FRAMES_TO_SPARE = 450
"""Maximum number of stack frames between two references in a schema, and for showing a value in an error.

Python's recursion limit must not be reached inside the `referencing` library: its native part would crash the process.
"""


class Unusable(ValueError):
    """The schema itself is invalid. The text is the end of a sentence that begins with what the schema belongs to."""


class _TooMuch(Exception):
    """Following the references takes more steps than any reasonable schema needs."""


def mismatch(value: Any, schema: dict[str, Any], *, formats: bool = False) -> str | None:
    """Why `value` does not match `schema`, as a sentence that names the location; None if it does.

    With `formats`, formats such as dates and addresses are checked too, as far as the installed packages allow.
    An invalid JSON Schema is not applied: validation is then left to the server.

    Raises:
        Unusable: the dialect is unknown, it refers to another document, or validation takes too many steps.
    """
    from jsonschema.exceptions import best_match
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # no types included
    from referencing.exceptions import Unresolvable

    kind = _dialect_of(json.dumps(schema))
    if kind is None:
        return None
    checker = kind.FORMAT_CHECKER if formats else None
    # This registry only has the dialects' own schemas, and never accesses the network.
    validator = _restricted(kind)(schema, registry=REGISTRY, format_checker=checker)
    try:
        error = best_match(validator.iter_errors(value))
    except Unresolvable as unresolved:
        raise Unusable(f"refers to {unresolved.ref!r}, which it does not hold") from unresolved
    except (RecursionError, _TooMuch) as endless:
        raise Unusable("refers to itself too often") from endless
    return None if error is None else _sentence(error)


def _sentence(error: ValidationError) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 300 else f"{error.message[:300]}…"
    return f"{place}: {message}" if place else message


@lru_cache(maxsize=512)
def _dialect_of(text: str) -> Any:
    """The validator class for a schema; None if the schema is invalid."""
    from jsonschema.exceptions import SchemaError

    schema = json.loads(text)
    if not _is_bounded(schema):
        raise Unusable("is too large to be checked")
    kind = _dialect(schema)
    try:
        kind.check_schema(schema)
    except SchemaError:
        return None
    return kind


def _dialect(schema: dict[str, Any]) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for

    declared = schema.get("$schema")
    if not isinstance(declared, str) or not declared:
        return Draft202012Validator
    kind = validator_for({"$schema": declared}, default=None)  # type: ignore[arg-type]  # None: our own "unknown"
    if kind is None:
        raise Unusable(f"is written in a dialect of JSON Schema that is unknown here ({declared})")
    return kind


def _is_bounded(schema: Any) -> bool:
    level, seen = [schema], 0
    for _ in range(DEEPEST):
        if not level:
            return True
        seen += len(level)
        if seen > NODES:
            return False
        level = [child for node in level for child in _children(node)]
    return False


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _frames() -> int:
    count, frame = 0, sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        count += 1
    return count


def _unchecked(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
    return iter(())


def _restricted(kind: Any) -> Any:
    """The dialect without regular expressions: one of Python's may run for an unlimited time and block the event loop.

    With `patternProperties`, what they leave over (`additionalProperties`, …) cannot be checked either.
    """
    from jsonschema.validators import extend

    followed = 0

    def counted(follow: Any) -> Any:
        def check(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
            nonlocal followed
            followed += 1
            if followed > REFERENCES_FOLLOWED or _frames() > sys.getrecursionlimit() - FRAMES_TO_SPARE:
                raise _TooMuch
            yield from follow(validator, target, instance, schema) or ()

        return check

    def unless_patterns(closed: Any) -> Any:
        def check(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
            if "patternProperties" not in schema:
                yield from closed(validator, target, instance, schema) or ()

        return check

    keywords = kind.VALIDATORS
    changed: dict[str, Any] = {"pattern": _unchecked, "patternProperties": _unchecked}
    changed |= {word: counted(keywords[word]) for word in ("$ref", "$dynamicRef", "$recursiveRef") if word in keywords}
    closing = ("additionalProperties", "unevaluatedProperties")
    changed |= {word: unless_patterns(keywords[word]) for word in closing if word in keywords}
    return extend(kind, changed)  # type: ignore[no-untyped-call]  # the stubs leave it open
