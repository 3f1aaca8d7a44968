"""Which changes of resources are worth a word."""

from __future__ import annotations

from agent.host.subscriptions import Subscriptions


def test_a_resource_whose_name_begins_with_another_s_is_another() -> None:
    subscribed = Subscriptions()
    subscribed.add("notes://1")
    assert not subscribed.is_news("notes://10")
    assert subscribed.is_news("notes://1")


def test_every_resource_has_its_own_notice_and_a_second_one_comes_later() -> None:
    subscribed = Subscriptions()
    for uri in ("notes://1", "notes://10"):
        subscribed.add(uri)
    assert [subscribed.is_news(uri) for uri in ("notes://10", "notes://1", "notes://1", "notes://10")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_a_part_of_two_subscribed_resources_is_told_of_once() -> None:
    subscribed = Subscriptions()
    for uri in ("file:///a", "file:///a/b"):
        subscribed.add(uri)
    assert [subscribed.is_news("file:///a/b/c") for _ in range(2)] == [True, False]


def test_what_is_not_wanted_any_more_is_no_news() -> None:
    subscribed = Subscriptions()
    subscribed.add("a:b")
    subscribed.discard("a:b")
    assert (subscribed.uris, subscribed.is_news("a:b")) == ((), False)
