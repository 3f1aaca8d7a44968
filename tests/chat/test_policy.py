from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.policy import STRICTNESS, Permission, ToolPolicy, stricter

PERMISSIONS = st.sampled_from(STRICTNESS)
NAMES = st.text(min_size=1)
PATTERNS = st.lists(st.text("ab/*[]?.\n")).map(tuple)


@pytest.mark.parametrize(
    ("pattern", "server", "tool", "matches"),
    [
        ("time/*", "time", "now", True),
        ("time/*", "time", "", True),
        ("time/*", "times", "now", False),
        ("*/delete_*", "fs", "delete_all", True),
        ("*/delete_*", "fs", "undelete_all", False),
        ("*", "fs", "a/b\nc", True),
        ("fs/read", "fs", "read", True),
        ("fs/read", "fs", "READ", False),
        ("fs/read", "fs", "read_all", False),
        ("fs/rea?", "fs", "read", False),
        ("fs/[r]ead", "fs", "read", False),
        ("fs/x[1].y", "fs", "x[1].y", True),
        ("fs/x.y", "fs", "x-y", False),
        ("", "fs", "read", False),
    ],
)
def test_a_pattern_has_stars_and_nothing_else(pattern: str, server: str, tool: str, matches: bool) -> None:
    assert ToolPolicy("ask", deny=(pattern,)).decide(server, tool) == ("deny" if matches else "ask")
    assert ToolPolicy("ask", allow=(pattern,)).decide(server, tool) == ("allow" if matches else "ask")


@pytest.mark.parametrize(
    ("default", "harmless", "expected"),
    [
        ("ask", False, "ask"),
        ("ask", True, "allow"),
        ("allow", False, "allow"),
        ("allow", True, "allow"),
        ("deny", False, "deny"),
        ("deny", True, "deny"),
    ],
)
def test_without_a_pattern_the_default_decides(default: Permission, harmless: bool, expected: Permission) -> None:
    assert ToolPolicy(default).decide("fs", "read", harmless=harmless) == expected


@given(PERMISSIONS, PATTERNS, PATTERNS, NAMES, NAMES, st.booleans())
def test_any_deny_beats_any_allow(
    default: Permission, allow: tuple[str, ...], deny: tuple[str, ...], server: str, tool: str, harmless: bool
) -> None:
    policy = ToolPolicy(default, ("*", *allow), (*deny, f"{server}/{tool}"))
    assert policy.decide(server, tool, harmless=harmless) == "deny"


@given(PERMISSIONS, PATTERNS, NAMES, NAMES, st.booleans())
def test_an_allow_beats_the_default(
    default: Permission, allow: tuple[str, ...], server: str, tool: str, harmless: bool
) -> None:
    assert ToolPolicy(default, (*allow, f"{server}/{tool}")).decide(server, tool, harmless=harmless) == "allow"


@given(PERMISSIONS, PATTERNS, PATTERNS, PATTERNS, NAMES, NAMES)
def test_one_more_deny_never_permits_more(
    default: Permission, allow: tuple[str, ...], deny: tuple[str, ...], more: tuple[str, ...], server: str, tool: str
) -> None:
    before = ToolPolicy(default, allow, deny).decide(server, tool)
    after = ToolPolicy(default, allow, deny + more).decide(server, tool)
    assert stricter(before, after) == after


@given(PERMISSIONS, PERMISSIONS)
def test_the_stricter_of_two_permits_less(one: Permission, other: Permission) -> None:
    assert STRICTNESS.index(stricter(one, other)) == max(STRICTNESS.index(one), STRICTNESS.index(other))
    assert stricter(one, other) == stricter(other, one)
