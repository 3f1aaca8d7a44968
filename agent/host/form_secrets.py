"""Whether a field of a form asks for a secret, judged by the words in its name and descriptions.

The specification requires secrets to be requested in URL mode, in the person's browser (section "Elicitation, URL
mode"), because what is entered in a form passes through this program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORDS = (
    # English
    "password", "passwords", "passwd", "pwd", "pw", "passphrase", "passcode", "secret", "secrets", "credential",
    "credentials", "token", "bearer", "apikey", "accesskey", "privatekey", "secretkey", "iban",
    "api key", "access key", "private key", "secret key", "signing key", "encryption key", "recovery key",
    "seed phrase", "recovery phrase", "credit card",
    # other languages
    "passwort", "kennwort", "geheimzahl", "mot de passe", "mots de passe", "code secret", "contraseña", "contrasena",
    "clave de acceso", "clave secreta", "senha", "palavra passe", "parola d ordine", "parola chiave", "wachtwoord",
    "lösenord", "losenord", "adgangskode", "passord", "salasana", "hasło", "haslo", "heslo", "jelszó", "parolă",
    "şifre", "sifre", "пароль", "пароля", "κωδικός πρόσβασης",
)  # fmt: skip
_NUMBERS = (
    "otp", "totp", "2fa", "mfa", "cvv", "cvc", "pin code", "recovery code", "security code", "verification code",
    "one time code", "backup code", "2fa code", "card number", "card no", "ssn", "social security number",
)  # fmt: skip
"""Secrets that may be numbers."""

_UNSPACED = ("密码", "密碼", "口令", "密钥", "密鑰", "验证码", "驗證碼", "パスワード", "暗証番号", "認証コード",
             "비밀번호", "암호", "รหัสผ่าน")  # fmt: skip
"""In scripts without spaces between words."""

_HARMLESS = (
    "age", "budget", "count", "expiration", "expires", "expiry", "format", "hint", "kind", "length", "lifetime",
    "limit", "limits", "manager", "name", "policy", "question", "reset", "rotation", "rules", "santa", "scheme",
    "strength", "ttl", "type", "url", "usage",
)  # fmt: skip
"""Words which, following the word for a secret, show that something about it is meant and not the secret itself."""

_ASKING = (
    "enter", "type", "paste", "provide", "give", "tell", "confirm", "fill in", "submit", "please", "what is",
    "bitte", "eingeben", "geben", "saisir", "saisissez", "entrez", "entrer", "indiquez", "introduce", "introduzca",
    "ingrese", "escriba", "por favor", "digite", "inserisci", "inserire", "voer", "введите", "wprowadź", "podaj",
)  # fmt: skip


def _any(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NOT_ABOUT_IT = rf"(?!\s(?:{_any(_HARMLESS)})\b)"
_SECRET = rf"(?:\b(?:{_any((*_WORDS, *_NUMBERS))})\b{_NOT_ABOUT_IT}|{_any(_UNSPACED)})"
_NAMED = re.compile(_SECRET)
_NUMBERED = re.compile(rf"\b(?:{_any(_NUMBERS)})\b{_NOT_ABOUT_IT}")
_BEFORE = re.compile(rf"\b(?:{_any(_ASKING)})\b.{{0,40}}{_SECRET}")
_AFTER = re.compile(rf"{_SECRET}.{{0,40}}\b(?:{_any(_ASKING)})\b")
_DENIED = re.compile(
    rf"\b(?:not|never|no|without|don t|kein|keine|nicht|nie|jamais|pas|nunca|sin|не)\b.{{0,25}}{_SECRET}"
)
_LAST = re.compile(rf"{_SECRET}$")
_ABOUT = re.compile(rf"\b(?:{_any(_HARMLESS)})\b")
_SHORT, _SHORTISH = 3, 5  # words; a description no longer than that says what the field is
_NUMERIC = ("integer", "number")


def is_secret(name: str, rules: Mapping[str, Any]) -> bool:
    """Whether the field's name or declaration says that it is a secret."""
    if rules.get("format") == "password" or rules.get("writeOnly") is True:
        return True
    titled = rules.get("title")
    pattern = _NUMBERED if rules.get("type") in _NUMERIC else _NAMED
    named = [spaced(name), spaced(titled) if isinstance(titled, str) else ""]
    return any(text == "pin" or pattern.search(text) for text in named)


def asks_for_secret(text: str) -> bool:
    """Whether a sentence of `text` asks for a secret; sentences saying that none is wanted do not count."""
    return any(_asks(spaced(sentence)) for sentence in re.split(r"[.?!,;:()\n。？！，、；：（）]", text))


def _asks(sentence: str) -> bool:
    if not _NAMED.search(sentence) or _DENIED.search(sentence):
        return False
    if _BEFORE.search(sentence) or _AFTER.search(sentence) or any(word in sentence for word in _UNSPACED):
        return True
    words = len(sentence.split())
    is_label = words <= _SHORT or (words <= _SHORTISH and _LAST.search(sentence))
    return bool(is_label) and not _ABOUT.search(sentence)


def spaced(name: str) -> str:
    """`githubApiKey` and `github_api_key` as separate words."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[_\-/'’.]", " ", apart).lower().split())
