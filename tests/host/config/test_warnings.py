"""Secrets in a configuration that others on this machine could see."""

from __future__ import annotations

import pytest

from agent.host.config.warnings import visible_secrets, warnings
from tests.host.scene import configure

TOKEN = "ghp_" + 30 * "x"


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--token", "hunter22"], ["the argument after --token"]),
        (["--api-key=hunter22"], ["argument 1 (api-key)"]),
        (["-H", "Authorization: Bearer abcdef"], ["argument 2 (Authorization)"]),
        (["run", "GITHUB_TOKEN=hunter22"], ["argument 2 (GITHUB_TOKEN)"]),
        (["login", TOKEN], ["argument 2"]),
        (["postgres://ada:hunter22@db/notes"], ["argument 1"]),
        (["--user", "a-known-secret"], ["argument 2"]),
        (
            ["--password", "hunter22", "--secret", "hunter33"],
            ["the argument after --password", "the argument after --secret"],
        ),
    ],
)
def test_a_secret_among_the_arguments_is_found(args: list[str], found: list[str]) -> None:
    assert list(visible_secrets(args, frozenset({"a-known-secret"}))) == found


@pytest.mark.parametrize(
    "args",
    [
        ["--token-file", "/run/secrets/token"],
        ["--token", "/run/secrets/token"],
        ["--auth", "none"],
        ["--auth", "--verbose"],
        ["--author", "Ada Lovelace"],
        ["--max-tokens", "500"],
        ["--token", "GITHUB_TOKEN"],
        ["--keyboard", "dvorak-programmer"],
        ["https://example.com/mcp?page=2"],
        ["-y", "@scope/server", "."],
    ],
)
def test_what_is_none_is_not_found(args: list[str]) -> None:
    assert list(visible_secrets(args)) == []


def test_the_warning_says_where_it_belongs_and_not_what_it_is() -> None:
    assert list(warnings(configure({"git": {"args": ["--token", TOKEN]}, "other": {}}))) == [
        "servers.git.args: the argument after --token looks like a secret, and the process list shows it to everybody "
        'on this machine. Put it into env = { NAME = "${NAME}" } and let the server read it there.'
    ]


SECRET = 'A secret in it ends up in logs. Put it into headers = { Authorization = "Bearer ${NAME}" }.'
READABLE = "Its address begins with http://: everybody on the way can read, and change, what is said. Use https://."


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://ada:hunter22@notes.example/mcp", [SECRET]),
        ("https://notes.example/mcp?api_key=hunter22&page=2", [SECRET]),
        ("http://notes.example/mcp", [READABLE]),
        ("http://notes.example/mcp?token=hunter22", [SECRET, READABLE]),
        ("http://127.0.0.1:8000/mcp", []),
        ("https://notes.example/mcp?page=2", []),
    ],
)
def test_addresses_that_give_something_away_are_found(url: str, found: list[str]) -> None:
    assert list(warnings(configure({"notes": {"url": url}}))) == [f"servers.notes.url: {said}" for said in found]
