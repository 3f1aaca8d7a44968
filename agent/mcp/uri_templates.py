"""URIs of resources: templates (RFC 6570) that URIs are matched with, and sub-resources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ONE, _MANY = r"[^/?#&]*", r"[^?#]*"
_LEADS = {"#": "#", ".": r"\.", "/": "/"}


class TemplateError(ValueError):
    """The text is not a URI, nor a URI template that can be matched. The message says why."""


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A template that URIs can be matched with: `notes://{id}`, `file:///{+path}`, `search://all{?query,limit}`.

    Values cannot be used for path traversal: `..`, NUL, and a slash in `{name}` do not match, however they are encoded.
    `{+path}` is for paths: it matches slashes, except at its beginning.
    """

    text: str
    names: tuple[str, ...]
    optional: frozenset[str]
    _pattern: re.Pattern[str]
    _paths: frozenset[str]

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded values in a URI, or None if it does not match."""
        address, _, query = uri.partition("?") if self.optional else (uri, "", "")
        if not (found := self._pattern.fullmatch(address)):
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()} | self._queried(query)
        return values if all(_stays(value, name in self._paths) for name, value in values.items()) else None

    def _queried(self, query: str) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in query.split("&") if pair)
        return {name: unquote(value.replace("+", " ")) for name, _, value in pairs if name in self.optional}


def check_uri(text: str) -> None:
    """Raises TemplateError for what is neither a URI nor a URI template."""
    if not _URI.fullmatch(_EXPRESSION.sub("", text) if not text.startswith("{") else "any:" + text):
        raise TemplateError(f"{text!r} is no URI: one begins with a scheme, as notes://all does, and has no spaces.")


def parse_template(text: str) -> UriTemplate:
    """Raises TemplateError."""
    names: list[str] = []
    optional: set[str] = set()
    paths: set[str] = set()
    pattern, position = "", 0
    for found in _EXPRESSION.finditer(text):
        operator, listed = found.groups()
        here = [_checked(text, name) for name in listed.split(",")]
        pattern += re.escape(text[position : found.start()])
        position = found.end()
        names += [name for name, _ in here]
        if operator in ("?", "&"):
            optional |= {name for name, _ in here}
        else:
            several = {name for name, exploded in here if operator in ("+", "#") or exploded}
            paths |= several
            pattern += _LEADS.get(operator, "") + _groups([name for name, _ in here], several, operator)
    rest = text[position:]
    if "{" in rest or "}" in rest or len(set(names)) != len(names):
        raise TemplateError(f"{text!r} is no URI template: every {{name}} must be closed, and stand there once.")
    return UriTemplate(text, tuple(names), frozenset(optional), re.compile(pattern + re.escape(rest)), frozenset(paths))


def _checked(text: str, name: str) -> tuple[str, bool]:
    bare = name.strip().removesuffix("*")
    if not _NAME.fullmatch(bare):
        raise TemplateError(f"{text!r} is no URI template: {name!r} is no name of a variable.")
    return bare, name.strip().endswith("*")


def _groups(names: list[str], several: set[str], operator: str) -> str:
    between = _LEADS.get(operator, ",") if operator in ("/", ".") else ","
    return between.join(f"(?P<{name}>{_MANY if name in several else _ONE})" for name in names)


def _stays(value: str, is_path: bool) -> bool:
    if "\0" in value:
        return False
    steps = re.split(r"[/\\]", value)
    return ".." not in steps and (len(steps) == 1 or (is_path and steps[0] != ""))


def is_template(uri: str) -> bool:
    return "{" in uri


def is_within(uri: str, resource: str) -> bool:
    """Whether a URI is that of `resource`, or of a part of it: `a:b/c` is within `a:b`, `a:bc` is not."""
    return uri == resource or uri.startswith(resource.rstrip("/") + "/")
