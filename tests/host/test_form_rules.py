"""What a form may ask."""

from __future__ import annotations

from typing import Any

import pytest

from agent.host.form_rules import form_objection


def objection(rules: dict[str, Any], name: str = "x", message: str = "Please") -> str | None:
    return form_objection(message, {"type": "object", "properties": {name: rules}})


@pytest.mark.parametrize(
    "rules",
    [
        {"type": "string", "format": "email"},
        {"type": ["string", "null"]},
        {"type": "integer", "minimum": 1},
        {"type": "boolean", "default": True},
        {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        {"enum": ["a"], "enumNames": ["A"]},
        {},
    ],
)
def test_every_kind_of_field_may_be_asked(rules: dict[str, Any]) -> None:
    assert objection(rules) is None


@pytest.mark.parametrize("schema", [{}, {"type": None}, {"properties": None}, {"properties": {}}])
def test_a_form_without_fields_is_one(schema: dict[str, Any]) -> None:
    assert form_objection("Agree?", schema) is None


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("password", {"type": "string"}),
        ("db_password", {"type": "string"}),
        ("githubToken", {"type": "string"}),
        ("apiKey", {"type": "string"}),
        ("API-KEY", {}),
        ("x", {"type": "string", "title": "Your secret key"}),
        ("x", {"type": "string", "format": "password"}),
        ("x", {"type": "string", "writeOnly": True}),
        ("pin", {"type": "integer"}),
        ("cvc", {"type": "number"}),
        ("cardNumber", {"type": ["string", "null"]}),
        ("x", {"type": "string", "description": "Enter the recovery code that you were sent"}),
        *(
            ("x", {"type": "string", "title": title})
            for title in (
                "pwd", "pw", "Passwort", "Kennwort", "Mot de passe", "mot_de_passe", "contraseña", "Contraseña nueva",
                "密码", "登录密码", "パスワード", "お使いのパスワード", "2fa", "OTP code", "ssn", "bearer", "Senha",
                "Password (again)", "GITHUB_TOKEN", "PIN",
            )
        ),
        ("x", {"type": "string", "description": "Passwort bitte"}),
        ("x", {"type": "string", "description": "Veuillez saisir votre mot de passe"}),
        ("x", {"type": "string", "description": "请输入密码"}),
        ("x", {"type": "string", "description": "Your GitHub account password"}),
        ("x", {"type": "string", "description": "Enter your password (it is not stored)"}),
    ],
)  # fmt: skip
def test_a_secret_may_not(name: str, rules: dict[str, Any]) -> None:
    assert (objection(rules, name) or "").endswith("which a form must not; a page of the server's own may (URL mode)")


def test_a_secret_that_only_the_message_asks_for_may_not_either() -> None:
    said = objection({"type": "string"}, "value", "Please enter your GitHub password below.")
    assert said == "asks for a secret, in 'value', which a form must not; a page of the server's own may (URL mode)"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("max_tokens", {"type": "integer"}),
        ("keyboard", {"type": "string"}),
        ("pinned", {"type": "string"}),
        ("remember_password", {"type": "boolean"}),
        ("token", {"type": "string", "enum": ["round", "square"]}),
        ("secretary", {"type": "string"}),
        ("token_count", {"type": "integer", "title": "Token count"}),
        ("access_token_lifetime", {"type": "number"}),
        ("show_password", {"type": "boolean", "title": "Show password field?"}),
        ("secret_santa", {"type": "string"}),
        ("password_hint", {"type": "string", "description": "A short hint for your password"}),
        ("primary_key", {"type": "string"}),
        ("passport_number", {"type": "string"}),
        ("tokens", {"type": "integer", "description": "Enter the token limit"}),
        ("x", {"type": "string", "description": "Never enter your password here"}),
        ("x", {"type": "string", "description": "Your favourite secret ingredient"}),
        ("name", {"type": "string", "description": "Not your password, which nobody here needs"}),
    ],
)
def test_what_only_sounds_like_a_secret_may(name: str, rules: dict[str, Any]) -> None:
    assert objection(rules, name) is None


@pytest.mark.parametrize(
    ("message", "schema", "fault"),
    [
        ("x" * 1_000_000, {}, "has a message of 1,000,000 characters; 20,000 are allowed"),
        ("?", {"type": "array"}, "has a schema of type 'array'; a form is an object"),
        *(
            ("?", {"properties": {"a": rules}}, f"has a field that nothing can fill, 'a': {why}")
            for rules, why in (
                ({"type": "integer", "minimum": 10, "maximum": 1}, "minimum 10 is more than maximum 1"),
                ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength 3 is more than maxLength 2"),
                ({"type": "array", "items": {"enum": ["x"]}, "minItems": 2, "maxItems": 1},
                 "minItems 2 is more than maxItems 1"),
                ({"type": "string", "pattern": "("}, "the pattern '(' is no regular expression"),
                ({"type": "string", "pattern": "*a"}, "the pattern '*a' is no regular expression"),
            )
        ),
        ("?", {"properties": 3}, "has properties that are no fields"),
        ("?", {"properties": {"a": True}}, "has properties that are no fields"),
        ("?", {"properties": {f"f{n}": {} for n in range(10_000)}}, "has 10,000 fields; 100 are allowed"),
        ("?", {"properties": {"a": {"title": "x" * 3_000}}}, "has a field with a label of more than 2,000 characters"),
        ("?", {"properties": {"a": {"enum": list(range(2_000))}}}, "has a field with more than 1,000 choices, 'a'"),
        *(
            ("?", {"properties": {"a": rules}}, "has a field that is a form in itself, 'a'; forms are flat")
            for rules in (
                {"type": "object"},
                {"properties": {"b": {}}},
                {"$ref": "#"},
                {"allOf": [{}]},
                {"type": "array", "items": {"type": "object"}},
                {"type": "array", "items": {"type": "array"}},
            )
        ),
    ],
)  # fmt: skip
def test_a_form_that_is_too_much_is_refused(message: str, schema: dict[str, Any], fault: str) -> None:
    assert form_objection(message, schema) == fault


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}+$", r"^(?<year>\d{4})-\k<year>$", "[^]", r"[\w-.]+", r"\u{1F600}", "[[a]", "^(a+)+$", r"\cJ"]
)
def test_a_pattern_that_only_python_cannot_read_may_be_asked_for(pattern: str) -> None:
    assert objection({"type": "string", "pattern": pattern}) is None
