"""Addresses that a server wants opened: where they really lead, and what about them is odd."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

LONGEST = 16_000  # characters
SHOWN = 120

_FAMILIAR = (
    "amazon", "anthropic", "apple", "atlassian", "dropbox", "facebook", "github", "gitlab", "google", "linkedin",
    "microsoft", "netflix", "notion", "openai", "paypal", "salesforce", "slack", "stripe", "twitter", "whatsapp",
)  # fmt: skip
"""Names that others like to be taken for."""

_SHARED = ("ac", "co", "com", "gov", "net", "org")
"""Where a country keeps the names of many owners: the label before it is whose they are."""

_ALIKE = str.maketrans("0134578@аеорсхукіјѕԁԛԝгьӏɡıοαρντκυ", "oleastbaaeopcxykijsdqwrblgioapvtku")
"""Digits, and Cyrillic and Greek letters, as the Latin letter that they look like."""


class UnsafeAddress(ValueError):
    """It must not be opened. The text is the end of a sentence that begins with "the address"."""


@dataclass(frozen=True, slots=True)
class Address:
    """`host` as it is asked for, in ASCII."""

    url: str
    host: str
    warnings: tuple[str, ...] = ()


def read_address(url: str) -> Address:
    """Only what leads to a web page, looked at without asking anybody for it (section "Elicitation, URL mode").

    Raises:
        UnsafeAddress: it is no web address, or hides what it is.
    """
    if len(url) > LONGEST:
        raise UnsafeAddress(f"is longer than {LONGEST:,} characters")
    if any(not char.isprintable() or char.isspace() for char in url) or "\\" in url:
        raise UnsafeAddress("holds characters that no web address has")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise UnsafeAddress("cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise UnsafeAddress(f"begins with {parts.scheme[:SHOWN] or 'nothing'!r}, and only http and https are opened")
    if not host:
        raise UnsafeAddress("names no host")
    return Address(url, _ascii(host), tuple(_warnings(parts, host, port)))


def _warnings(parts: SplitResult, host: str, port: int | None) -> Iterator[str]:
    if "@" in parts.netloc:
        yield "What stands before the @ is not the host, and may be there to deceive."
    if parts.scheme == "http" and not _is_local(host):
        yield "It is not encrypted (http): others on the way can read and change it."
    if _is_number(host) and not _is_local(host):
        yield "It has a number in place of a name, so there is no saying whose it is."
    elif port not in (None, 80, 443) and not _is_local(host):
        yield f"It uses an unusual port, {port}."
    shown = _unicode(host)
    if not shown.isascii():
        yield f"Its name has letters beyond A to Z: {shown} is really {_ascii(host)}."
    if _mixes_scripts(shown):
        yield "Its name mixes letters of several scripts, which is how one name is made to look like another."
    yield from _likenesses(shown)


def _likenesses(host: str) -> Iterator[str]:
    """A name that looks like a familiar one, or that has one where it says nothing about whose page it is."""
    *before, owner = host.split(".")[:-1] or [host]
    if owner in _SHARED and before:
        owner = before.pop()
    if owner in _FAMILIAR:
        return
    for name in _FAMILIAR:
        if name in (*before, *re.split("[-_]", owner)):
            yield f"It has {name} in its name, but belongs to {owner}."
        elif _looks_like(owner, name):
            yield f"Its name looks like {name}, and is not: it is {owner}."


def _looks_like(label: str, name: str) -> bool:
    plain = _plain(label)
    return _plain(name) in (plain, plain.replace("-", ""), *re.split("[-_]", plain))


def _plain(label: str) -> str:
    """The label as a hasty eye reads it."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", label) if not unicodedata.combining(char))
    return bare.casefold().replace("rn", "m").replace("vv", "w").translate(_ALIKE)


def _mixes_scripts(host: str) -> bool:
    return any(len({_script(char) for char in label if char.isalpha()}) > 1 for label in host.split("."))


def _script(char: str) -> str:
    name = unicodedata.name(char, "?").split()[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA", "HANGUL") else name


def _unicode(host: str) -> str:
    return ".".join(_decoded(label) for label in host.split("."))


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label
    return decoded if decoded.isprintable() else label


def _ascii(host: str) -> str:
    return ".".join(_encoded(label) for label in host.split("."))


def _encoded(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def _is_number(host: str) -> bool:
    if re.fullmatch(r"[0-9.]+|0x[0-9a-f]+", host):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
