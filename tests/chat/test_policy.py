from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.policy import STRICTNESS, OfServer, Permission, ToolPolicy, stricter

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


@pytest.mark.parametrize("name", ["files [work]", "a?b", "x*", "*", "[!a]", ".*", "files\\d", "плёнка"])
@pytest.mark.parametrize(("tool", "matches"), [("delete_all", True), ("undelete", False), ("delete", False)])
def test_the_name_of_a_server_is_no_pattern(name: str, tool: str, matches: bool) -> None:
    rule = OfServer(name, "delete_*")
    for default in STRICTNESS:
        assert ToolPolicy(default, deny=(rule,)).decide(name, tool) == ("deny" if matches else default)
        assert ToolPolicy(default, allow=(rule,)).decide(name, tool) == ("allow" if matches else default)
        assert ToolPolicy(default, (OfServer(name, "*"),), (rule,)).decide(name, tool) == (
            "deny" if matches else "allow"
        )
        for other in ("files w", "aab", "xy", "anything", "b", "files1", ""):
            assert ToolPolicy(default, (rule,), (rule,)).decide(other, tool) == default


@pytest.mark.parametrize("default", STRICTNESS)
def test_without_a_pattern_the_default_decides(default: Permission) -> None:
    assert ToolPolicy(default).decide("fs", "read") == default


@given(PERMISSIONS, PATTERNS, PATTERNS, NAMES, NAMES)
def test_any_deny_beats_any_allow(
    default: Permission, allow: tuple[str, ...], deny: tuple[str, ...], server: str, tool: str
) -> None:
    for named in (f"{server}/{tool}", OfServer(server, tool)):
        assert ToolPolicy(default, ("*", *allow), (*deny, named)).decide(server, tool) == "deny"


@given(PERMISSIONS, PATTERNS, NAMES, NAMES)
def test_an_allow_beats_the_default(default: Permission, allow: tuple[str, ...], server: str, tool: str) -> None:
    for named in (f"{server}/{tool}", OfServer(server, tool)):
        assert ToolPolicy(default, (*allow, named)).decide(server, tool) == "allow"


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
