"""May a tool be run: allow, ask or deny, as a pure function of what the user configured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Permission = Literal["allow", "ask", "deny"]
STRICTNESS: tuple[Permission, ...] = ("allow", "ask", "deny")


def stricter(one: Permission, other: Permission) -> Permission:
    """The one that permits less."""
    return max(one, other, key=STRICTNESS.index)


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """Patterns are `server/tool` with `*`. Any deny beats any allow, an allow beats the default."""

    default: Permission = "ask"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def decide(self, server: str, tool: str, *, harmless: bool = False) -> Permission:
        """`harmless` tools, which a trusted server says only read, need no approval unless the default forbids all."""
        if _matches(server, tool, self.deny):
            return "deny"
        if _matches(server, tool, self.allow):
            return "allow"
        return "allow" if harmless and self.default == "ask" else self.default


def _matches(server: str, tool: str, patterns: tuple[str, ...]) -> bool:
    name = f"{server}/{tool}"
    return any(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name, re.DOTALL) for pattern in patterns)
