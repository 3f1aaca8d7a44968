"""Does a value fit a server's JSON Schema? Bounded in work, and never by way of the network."""

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
"""Stack frames that a schema of that depth may need until its next reference, and a value to be shown in an error.

Python's own limit must never be met below the reference library: its native part takes the program down with it.
"""


class Unusable(ValueError):
    """The schema itself is at fault. The text is the end of a sentence that begins with what it belongs to."""


class _TooMuch(Exception):
    """Following references takes more work than any honest schema does."""


def mismatch(value: Any, schema: dict[str, Any], *, formats: bool = False) -> str | None:
    """How `value` does not fit `schema`, as a sentence that names the place; None if it fits.

    With `formats`, dates, addresses and the like are checked too, as far as that is possible here.
    A schema that is no valid JSON Schema says nothing: what it describes is left to the server to judge.

    Raises:
        Unusable: the schema is of an unknown dialect, refers to something outside of itself, or is too much work.
    """
    from jsonschema.exceptions import best_match
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types
    from referencing.exceptions import Unresolvable

    kind = _dialect_of(json.dumps(schema))
    if kind is None:
        return None
    checker = kind.FORMAT_CHECKER if formats else None
    # This registry holds the dialects themselves, and fetches nothing.
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
    """The validator class for a schema; None if it is no valid one."""
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
    """The dialect without regular expressions: Python's may take for ever, and hold up everything meanwhile.

    Where names are matched by patterns, what the patterns leave over cannot be told either.
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
