"""Checks URLs that a server wants opened: which host they lead to, and what is suspicious about them."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}
LONGEST = 16_000  # characters
SHOWN = 120

_FAMILIAR = (
    "amazon", "anthropic", "apple", "atlassian", "dropbox", "facebook", "github", "gitlab", "google", "linkedin",
    "microsoft", "netflix", "notion", "openai", "paypal", "salesforce", "slack", "stripe", "twitter", "whatsapp",
)  # fmt: skip
"""Names that are often imitated."""

_SHARED = ("ac", "co", "com", "edu", "gob", "gouv", "gov", "ltd", "me", "ne", "net", "nom", "or", "org", "plc")
"""Second-level labels shared by many owners, as in co.uk: the label before it identifies the owner."""

_HOSTED = (
    "amazonaws.com", "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "firebaseapp.com",
    "fly.dev", "github.io", "gitlab.io", "glitch.me", "herokuapp.com", "netlify.app", "ngrok-free.app", "ngrok.io",
    "onrender.com", "pages.dev", "surge.sh", "trycloudflare.com", "vercel.app", "web.app", "windows.net",
    "workers.dev",
)  # fmt: skip
"""Domains under which anybody can register a name of their choice."""

_ALIKE = str.maketrans("0134578@аеорсхукіјѕԁԛԝгьӏɡıοαρντκυ", "oleastbaaeopcxykijsdqwrblgioapvtku")
"""Digits, Cyrillic and Greek letters, with the Latin letter that they resemble."""


class UnsafeAddress(ValueError):
    """The URL must not be opened. The text is the end of a sentence that begins with "the address"."""


@dataclass(frozen=True, slots=True)
class Address:
    """`host` in ASCII (IDNA); `port` if it is not the scheme's default."""

    url: str
    host: str
    warnings: tuple[str, ...] = ()
    port: int | None = None

    @property
    def place(self) -> str:
        """Host and port."""
        host = f"[{self.host}]" if ":" in self.host and self.port else self.host
        return f"{host}:{self.port}" if self.port else host


def read_address(url: str) -> Address:
    """Parse a web address without connecting to it (section "Elicitation, URL mode").

    Raises:
        UnsafeAddress: it is not a web address, or is misleading.
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
    if parts.scheme not in _PORTS:
        raise UnsafeAddress(f"begins with {parts.scheme[:SHOWN] or 'nothing'!r}, and only http and https are opened")
    if not host:
        raise UnsafeAddress("names no host")
    warnings = tuple(_warnings(parts, host, port))
    return Address(url, _ascii(host), warnings, None if port == _PORTS[parts.scheme] else port)


def _warnings(parts: SplitResult, host: str, port: int | None) -> Iterator[str]:
    if "@" in parts.netloc:
        yield "What stands before the @ is not the host, and may be there to deceive."
    if _is_local(host):
        yield "It leads to this machine: a program that runs here answers."
    elif parts.scheme == "http":
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
    """Names that resemble a well-known one, or contain one in a place that does not identify the owner."""
    labels = host.split(".")
    at = len(labels) - _suffix(labels)
    *before, owner = labels[:at] or labels
    belongs, suffix = ".".join(labels[max(0, at - 1) :]), ".".join(labels[at:])
    if suffix in _HOSTED:
        yield f"It stands on {suffix}, where anybody can have a page under any name."
    elif owner in _FAMILIAR:
        return
    for name in _FAMILIAR:
        if name in (*before, *re.split("[-_]", owner)):
            yield f"It has {name} in its name, but belongs to {belongs}."
        elif _looks_like(owner, name):
            yield f"Its name looks like {name}, and is not: it is {belongs}."


def _suffix(labels: list[str]) -> int:
    """The number of labels at the end that do not identify the owner: "org", "co.uk", "github.io"."""
    if len(labels) > 2 and ".".join(labels[-2:]) in _HOSTED:
        return 2
    return 2 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SHARED else 1


def _looks_like(label: str, name: str) -> bool:
    plain = _plain(label)
    return _plain(name) in (plain, plain.replace("-", ""), *re.split("[-_]", plain))


def _plain(label: str) -> str:
    """The label with look-alike characters replaced."""
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
