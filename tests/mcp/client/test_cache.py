from __future__ import annotations

from typing import Any

import pytest

from agent.mcp.client.cache import KEPT, Cache, key_of

TOOLS = ("tools/list", None)


def result(ttl: Any, name: str = "x") -> dict[str, Any]:
    return {"name": name, "ttlMs": ttl}


@pytest.mark.parametrize(
    ("method", "params", "key"),
    [
        ("tools/list", {}, ("tools/list", None)),
        ("tools/list", {"cursor": "", "_meta": {"x": 1}}, ("tools/list", "")),
        ("resources/read", {"uri": "a:b"}, ("resources/read", "a:b")),
        ("server/discover", {}, ("server/discover", None)),
        ("tools/call", {"name": "x"}, None),
        ("prompts/get", {"name": "x"}, None),
    ],
)
def test_a_result_belongs_to_its_method_and_what_it_depends_on(method: str, params: Any, key: Any) -> None:
    assert key_of(method, params) == key


def test_a_result_is_fresh_for_as_long_as_it_says() -> None:
    cache = Cache()
    assert cache.get(TOOLS, 0.0) is None
    cache.put(TOOLS, result(1_500), 10.0)
    assert cache.get(TOOLS, 11.4) == result(1_500)
    assert cache.get(TOOLS, 11.5) is None
    assert cache.get(("tools/list", "2"), 11.0) is None


@pytest.mark.parametrize("ttl", [None, 0, -5, "60000", True, [], {}])
def test_without_a_hint_nothing_is_kept(ttl: Any) -> None:
    cache = Cache()
    cache.put(TOOLS, result(60_000), 0.0)
    cache.put(TOOLS, result(ttl), 0.0)
    assert cache.get(TOOLS, 0.0) is None


@pytest.mark.parametrize(
    ("notification", "stale"),
    [
        ("tools", {"tools/list"}),
        ("prompts", {"prompts/list"}),
        ("resources", {"resources/list", "resources/templates/list"}),
    ],
)
def test_a_change_makes_the_lists_stale_that_it_is_about(notification: str, stale: set[str]) -> None:
    cache = Cache()
    keys = [(method, None) for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")]
    for key in keys:
        cache.put(key, result(60_000), 0.0)
    cache.hear(f"notifications/{notification}/list_changed", {})
    assert {method for method, _ in keys if cache.get((method, None), 1.0) is None} == stale
    assert {method for method, _ in keys if cache.age(method)} == stale


@pytest.mark.parametrize(
    ("changed", "stale"),
    [("a:b", {"a:b"}), ("a:b/c", {"a:b", "a:b/c"}), ("a:bb", set()), (None, set()), (3, set())],
)
def test_a_change_of_a_resource_makes_it_stale_and_what_it_is_part_of(changed: Any, stale: set[str]) -> None:
    cache = Cache()
    uris = {"a:b", "a:b/c", "z:z"}
    for uri in uris:
        cache.put(("resources/read", uri), result(60_000), 0.0)
    cache.hear("notifications/resources/updated", {"uri": changed})
    assert {uri for uri in uris if cache.get(("resources/read", uri), 1.0) is None} == stale


def test_it_does_not_grow_without_end() -> None:
    cache = Cache()
    for number in range(KEPT + 10):
        cache.put(("resources/read", number), result(1_000), 0.0)
    assert cache.get(("resources/read", KEPT - 1), 0.5) is not None
    assert cache.get(("resources/read", KEPT), 0.5) is None
    cache.put(("resources/read", "new"), result(1_000), 2.0)
    assert cache.get(("resources/read", "new"), 2.5) is not None
