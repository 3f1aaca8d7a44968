"""Whether a tool may run (allow, ask or deny), as a pure function of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

Permission = Literal["allow", "ask", "deny"]
STRICTNESS: tuple[Permission, ...] = ("allow", "ask", "deny")


def stricter(one: Permission, other: Permission) -> Permission:
    """The stricter of two permissions."""
    return max(one, other, key=STRICTNESS.index)


@dataclass(frozen=True, slots=True)
class OfServer:
    """Tools of one server. `server` is matched literally, whatever characters it has; `tool` may contain `*`."""

    server: str
    tool: str


Rule = OfServer | str
"""A string is a `server/tool` pattern: `*` matches any text, every other character only itself."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """A matching deny overrides every allow; a matching allow overrides the default."""

    default: Permission = "ask"
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def decide(self, server: str, tool: str) -> Permission:
        if any(_covers(rule, server, tool) for rule in self.deny):
            return "deny"
        if any(_covers(rule, server, tool) for rule in self.allow):
            return "allow"
        return self.default


def _covers(rule: Rule, server: str, tool: str) -> bool:
    if isinstance(rule, OfServer):
        return rule.server == server and _fits(rule.tool, tool)
    return _fits(rule, f"{server}/{tool}")


def _fits(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL)
