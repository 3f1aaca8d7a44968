"""What a form of a server may ask, and what it may not: it stays flat and short, and never asks for a secret.

The specification wants secrets asked on a page of the server's own, in the person's browser (section "Elicitation,
URL mode"): what is typed into a form passes through this program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MOST_FIELDS = 100
MOST_CHOICES = 1_000
LONGEST_MESSAGE = 20_000  # characters
LONGEST_LABEL = 2_000

_SECRET = (
    "password", "passwort", "passwd", "passphrase", "passcode", "secret", "credential", "credentials", "token", "otp",
    "cvv", "cvc", "apikey", "accesskey", "privatekey", "secretkey", "api key", "access key", "private key",
    "secret key", "signing key", "recovery code", "security code", "verification code", "one time code", "seed phrase",
    "card number", "credit card", "pin code", "iban",
)  # fmt: skip
_SECRET_NAMES = re.compile(rf"\b({'|'.join(_SECRET)})\b")
_ASKED_IN_WORDS = re.compile(
    rf"\b(enter|type|paste|provide|give|tell|confirm|what is)\b[^.?!]{{0,40}}\b({'|'.join(_SECRET)})\b"
)
_TYPED = ("string", "integer", "number", None)


def form_objection(message: str, schema: Mapping[str, Any]) -> str | None:
    """Why the form is not put to anybody, as the end of a sentence that begins with "the form"."""
    properties = schema.get("properties") or {}
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
    if _is_secret(name, rules):
        return f"asks for a secret, {name!r}, which a form must not; a page of the server's own may (URL mode)"
    return None


def _prose(message: str, properties: Mapping[str, Any]) -> str | None:
    """Where a harmless field is explained by a request for something that is not."""
    for name, rules in properties.items():
        said = f"{message} {rules.get('description') or ''}".lower()
        if _is_typed(rules) and _ASKED_IN_WORDS.search(said):
            return f"asks for a secret, in {name!r}, which a form must not; a page of the server's own may (URL mode)"
    return None


def _is_secret(name: str, rules: Mapping[str, Any]) -> bool:
    if rules.get("format") == "password" or rules.get("writeOnly") is True:
        return True
    titled = rules.get("title")
    named = [_spaced(name), _spaced(titled) if isinstance(titled, str) else ""]
    return _is_typed(rules) and any(text == "pin" or _SECRET_NAMES.search(text) for text in named)


def _is_typed(rules: Mapping[str, Any]) -> bool:
    """Whether a person types it, and does not choose it."""
    kind = rules.get("type")
    return (isinstance(kind, list) or kind in _TYPED) and not any(_choices(rules))


def _spaced(name: str) -> str:
    """`githubApiKey` and `github_api_key` as words."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").lower().split())


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
